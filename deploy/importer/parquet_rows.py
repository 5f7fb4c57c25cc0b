"""Rows of a Parquet file as columns and values that JSON lines would have."""

import datetime as dt
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from shutil import copyfileobj
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deploy.importer.containers import Member
from deploy.importer.csv_rows import InvalidFile

BATCH_ROWS = 500
MAX_BATCH_BYTES = 2**30


def parquet_rows(plain: IO[bytes], member: Member) -> Iterator[Mapping[str, Any]]:
    """The rows in order; a file in a container is copied, because it is read from its end."""
    with tempfile.TemporaryFile() as copy:
        source: IO[bytes] = copy
        if member.is_zipped:
            copyfileobj(plain, copy)
        else:
            source = plain
        try:
            for batch in pq.ParquetFile(source).iter_batches(BATCH_ROWS):
                if batch.nbytes > MAX_BATCH_BYTES:
                    raise InvalidFile(f"{member.name}: {BATCH_ROWS} rows have more than 1 GiB")
                for row in _in_microseconds(batch).to_pylist(maps_as_pydicts="lossy"):
                    yield {name: _plain_value(value) for name, value in row.items()}
        except pa.ArrowException as error:
            raise InvalidFile(f"{member.name} cannot be read as Parquet: {error}") from None


def _in_microseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Python's times have no nanoseconds."""
    columns = [
        column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain_value(value: Any) -> Any:
    """Times as ISO 8601, without a zone in UTC; lists of BigQuery without their wrappers."""
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return aware.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, dict):
        if value.keys() == {"list"} and isinstance(value["list"], list):
            return [_plain_value(entry.get("element")) for entry in value["list"]]
        return {name: _plain_value(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain_value(member) for member in value]
    return value
