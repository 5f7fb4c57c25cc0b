"""Arrow and Parquet writers; instants are UTC milliseconds."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from query.formats.columns import ColumnKind, ResultColumn, Row
from schemas.http.error_bodies import encode_json

GROUP_ROWS = 65_536
"""Rows of one row group of a Parquet file."""

TYPES: Mapping[ColumnKind, Any] = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.DATE: pa.string(),
    ColumnKind.INTEGER: pa.int64(),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.BOOLEAN: pa.bool_(),
    ColumnKind.INSTANT: pa.timestamp("ms", "UTC"),
    ColumnKind.NESTED: pa.string(),
}

MAKERS: Mapping[ColumnKind, Callable[[Any], object]] = {
    ColumnKind.NUMBER: float,
    ColumnKind.NESTED: lambda value: encode_json(value).decode(),
}
"""Conversions to values that Arrow accepts."""


class ArrowRows:
    """Rows as Arrow record batches, for both formats."""

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        self._kinds = [column.kind for column in columns]
        self.schema = pa.schema([(column.name, TYPES[column.kind]) for column in columns])

    def batch(self, rows: Sequence[Row]) -> Any:
        """The rows as one record batch."""
        values = list(zip(*rows, strict=True)) or [()] * len(self._kinds)
        arrays = [_array(kind, column) for kind, column in zip(self._kinds, values, strict=True)]
        return pa.record_batch(arrays, schema=self.schema)


class ArrowStreamWriter:
    """An Arrow IPC stream; readers can start with its first batch."""

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        self._table = ArrowRows(columns)
        self._sink = BufferSink()
        self._writer = pa.ipc.new_stream(self._sink, self._table.schema)

    def start(self) -> bytes:
        return self._sink.drain()

    def rows(self, rows: Sequence[Row]) -> bytes:
        self._writer.write_batch(self._table.batch(rows))
        return self._sink.drain()

    def end(self) -> Iterator[bytes]:
        self._writer.close()
        yield self._sink.drain()

    def close(self) -> None:
        self._writer.close()


class ParquetWriter:
    """A Parquet file, one row group at a time; its footer comes last."""

    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        self._table = ArrowRows(columns)
        self._sink = BufferSink()
        self._writer = pq.ParquetWriter(self._sink, self._table.schema, compression="zstd")
        self._held: list[Any] = []

    def start(self) -> bytes:
        return self._sink.drain()

    def rows(self, rows: Sequence[Row]) -> bytes:
        self._held.append(self._table.batch(rows))
        if sum(batch.num_rows for batch in self._held) >= GROUP_ROWS:
            self._release()
        return self._sink.drain()

    def end(self) -> Iterator[bytes]:
        self._release()
        self._writer.close()
        yield self._sink.drain()

    def close(self) -> None:
        self._writer.close()

    def _release(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
            self._held.clear()


class BufferSink(io.RawIOBase):
    """A write-only file; `drain` takes what was written."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def drain(self) -> bytes:
        """The bytes written since the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def _array(kind: ColumnKind, values: Sequence[Any]) -> Any:
    make = MAKERS.get(kind)
    if make is not None:
        values = [None if value is None else make(value) for value in values]
    return pa.array(values, TYPES[kind])
