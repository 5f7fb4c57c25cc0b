"""FORMATS: JSON, CSV, NDJSON, Arrow, Parquet; one declaration each."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from query.formats.columns import ResultColumn, Writer
from query.formats.csv_ndjson import CsvWriter, NdjsonWriter, RawCsvWriter


class Format(Struct, frozen=True):
    """One format: name in `?format=`, media type, file extension, writer."""

    name: str
    media_type: str
    extension: str
    description: str
    writer: Callable[[Sequence[ResultColumn]], Writer] | None
    """None for JSON, whose body with `meta` is not a table."""
    unguarded: Callable[[Sequence[ResultColumn]], Writer] | None = None
    """Writer for `formulas=keep`, if different."""


def _arrow(columns: Sequence[ResultColumn]) -> Writer:
    # pyarrow is imported on first use: most services never need its memory.
    from query.formats import arrow

    return arrow.ArrowStreamWriter(columns)


def _parquet(columns: Sequence[ResultColumn]) -> Writer:
    from query.formats import arrow

    return arrow.ParquetWriter(columns)


JSON = Format("json", "application/json", "json", "the response body with `meta`", None)
NDJSON = Format("ndjson", "application/x-ndjson", "ndjson", "a JSON object per line", NdjsonWriter)

FORMATS = (
    JSON,
    Format(
        "csv",
        "text/csv",
        "csv",
        "RFC 4180 with a header; null is empty, formulas are escaped",
        CsvWriter,
        RawCsvWriter,
    ),
    NDJSON,
    Format("arrow", "application/vnd.apache.arrow.stream", "arrows", "an Arrow IPC stream", _arrow),
    Format("parquet", "application/vnd.apache.parquet", "parquet", "a Parquet file", _parquet),
)

FILE_FORMATS = tuple(format_ for format_ in FORMATS if format_.writer)
"""Formats that hold a table and nothing else."""
