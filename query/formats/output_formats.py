"""FORMATS: JSON, CSV, NDJSON, Arrow, Parquet, XLSX; one declaration each."""

from collections.abc import Callable, Sequence
from functools import partial

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
    with_mark: Callable[[Sequence[ResultColumn]], Writer] | None = None
    """Writer for `bom=true`: the file begins with a byte order mark."""
    unguarded: "Format | None" = None
    """The format for `formulas=keep`, if different."""


def _arrow(columns: Sequence[ResultColumn]) -> Writer:
    # pyarrow is imported on first use: most services never need its memory.
    from query.formats import arrow

    return arrow.ArrowStreamWriter(columns)


def _parquet(columns: Sequence[ResultColumn]) -> Writer:
    from query.formats import arrow

    return arrow.ParquetWriter(columns)


def _xlsx(columns: Sequence[ResultColumn]) -> Writer:
    from query.formats import xlsx

    return xlsx.XlsxWriter(columns)


JSON = Format("json", "application/json", "json", "the response body with `meta`", None)
NDJSON = Format("ndjson", "application/x-ndjson", "ndjson", "a JSON object per line", NdjsonWriter)

RAW_CSV = Format(
    "csv",
    "text/csv",
    "csv",
    "RFC 4180 with a header; null is empty, text is unchanged",
    RawCsvWriter,
    partial(RawCsvWriter, bom=True),
)
CSV = Format(
    "csv",
    "text/csv",
    "csv",
    "RFC 4180 with a header; null is empty, formulas are escaped",
    CsvWriter,
    partial(CsvWriter, bom=True),
    RAW_CSV,
)

FORMATS = (
    JSON,
    CSV,
    NDJSON,
    Format("arrow", "application/vnd.apache.arrow.stream", "arrows", "an Arrow IPC stream", _arrow),
    Format("parquet", "application/vnd.apache.parquet", "parquet", "a Parquet file", _parquet),
    Format(
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
        "an Excel workbook with one worksheet; no text is a formula",
        _xlsx,
    ),
)

FILE_FORMATS = tuple(format_ for format_ in FORMATS if format_.writer)
"""Formats that hold a table and nothing else."""
