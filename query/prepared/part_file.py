"""File format of a part: a header in JSON, then the columns, each compressed by itself.

A reader takes the columns that it needs. Lengths and checksums are in the header.
Positions of visitors and sessions are stored as differences, as rows are in their order. Before
compression the bytes of a column are transposed, the first byte of each number first.
"""

from collections.abc import Mapping, Sequence
from typing import IO

import msgspec
import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.checked_file import Block, pack, read_block, read_header, write_header
from query.prepared.part import (
    QUARTER_COLUMN,
    SESSION_COLUMN,
    VISITOR_COLUMN,
    Part,
    by_quarter,
    smallest,
)

MAGIC = b"TMPART4\n"
HEADER_LEVEL = 9
"""Finds the texts that several columns have; numbers gain nothing from it."""
OF_ALL = ""
"""In place of the table's name: what belongs to all tables."""
HASHES = {"visitors": VISITOR_COLUMN, "sessions": SESSION_COLUMN}
"""The columns of hashes, and the columns of tables with positions in them."""

TEXT_BYTES = 60
"""Of a text in memory, beside its characters."""
COLUMN_BYTES = 400
"""Of what is known of a column, in memory."""

_Texts = dict[str, list[str]]


class _StoredColumn(Struct, frozen=True, array_like=True):
    """Where the numbers of a column are."""

    table: str
    name: str
    dtype: str
    offset: int
    block: Block


class _Header(Struct, frozen=True):
    columns: Sequence[_StoredColumn]
    texts: Mapping[str, msgspec.Raw]
    """By table: those of each column."""


def write_part(file: IO[bytes], path: str, part: Part) -> None:
    """Write a part, whose file has this path in its folder."""
    arrays = {(t, name): v for t, c in part.tables.items() for name, v in c.stored.items()}
    arrays |= {(OF_ALL, name): part.hashes[column] for name, column in HASHES.items()}
    columns, blocks, offset = [], [], 0
    for (table, name), values in arrays.items():
        stored_values = differences(values) if name in HASHES.values() else values
        block, stored = pack(_transposed(stored_values))
        columns.append(_StoredColumn(table, name, stored_values.dtype.str, offset, block))
        blocks.append(stored)
        offset += len(stored)
    texts = {name: msgspec.Raw(msgspec.json.encode(c.texts)) for name, c in part.tables.items()}
    write_header(file, MAGIC, path, msgspec.json.encode(_Header(columns, texts)), HEADER_LEVEL)
    file.writelines(blocks)


class TableFrame(Struct, frozen=True, eq=False):
    """A stored table without the numbers of its columns."""

    columns: frozenset[str]
    """The names of its columns, beside that of quarters."""
    quarters: Numbers
    borders: Numbers
    texts: Mapping[str, Sequence[str]]
    """As those of `Columns`."""
    texts_size: int
    """Their bytes, as JSON."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        texts = self.texts_size + TEXT_BYTES * sum(map(len, self.texts.values()))
        return texts + self.quarters.nbytes + self.borders.nbytes


def read_frame(file: IO[bytes], path: str, table: str) -> TableFrame:
    """The frame of a table; Damaged when the file is not whole, or another than that of the path.

    Raises KeyError when the part has no such table.
    """
    header = msgspec.json.decode(read_header(file, MAGIC, path), type=_Header)
    texts = msgspec.json.decode(header.texts[table], type=_Texts)
    texts_size = len(memoryview(header.texts[table]))
    columns = _columns(file, header)
    names = {name for of_table, name in columns.by_name if of_table == table}
    quarters = read_numbers(file, path, columns, table, QUARTER_COLUMN)
    frame = by_quarter({QUARTER_COLUMN: quarters}, texts)
    names -= {QUARTER_COLUMN}
    return TableFrame(frozenset(names), frame.quarters, frame.borders, texts, texts_size)


class PartColumns(Struct, frozen=True):
    """Where the columns of a part are in its file."""

    start: int
    """Of the first one."""
    by_name: Mapping[tuple[str, str], _StoredColumn]
    """By table and name."""

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return COLUMN_BYTES * len(self.by_name)


def read_columns(file: IO[bytes], path: str) -> PartColumns:
    """Where the columns are; Damaged as above."""
    return _columns(file, msgspec.json.decode(read_header(file, MAGIC, path), type=_Header))


def read_numbers(
    file: IO[bytes],
    path: str,  # noqa: ARG001
    columns: PartColumns,
    table: str,
    column: str,
) -> Numbers:
    """A column of a table, or of hashes without a table; Damaged and KeyError as above."""
    stored = columns.by_name[table, column]
    file.seek(columns.start + stored.offset)
    raw = read_block(file, stored.block)
    dtype = np.dtype(stored.dtype)
    by_byte = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
    rows = np.empty((by_byte.shape[1], dtype.itemsize), np.uint8)
    for place, values in enumerate(by_byte):  # three times as fast as to transpose at once
        rows[:, place] = values
    numbers: Numbers = rows.view(dtype).reshape(-1)
    return from_differences(numbers) if column in HASHES.values() else numbers


def read_hashes(file: IO[bytes], path: str, columns: PartColumns, column: str) -> Numbers:
    """The hashes of a column of visitors or of sessions; Damaged and KeyError as above."""
    [name] = [name for name, each in HASHES.items() if each == column]
    return read_numbers(file, path, columns, OF_ALL, name)


def _columns(file: IO[bytes], header: _Header) -> PartColumns:
    """Those of a file whose header was read just now."""
    return PartColumns(file.tell(), {(each.table, each.name): each for each in header.columns})


def differences(values: Numbers) -> Numbers:
    """The difference of each number from the one before it, twice, plus one if it is below 0."""
    steps: Numbers = np.diff(values.astype(np.int64), prepend=0)
    return smallest(steps << 1 ^ steps >> 63)


def from_differences(stored: Numbers) -> Numbers:
    """The numbers of which these are the differences."""
    steps = stored.astype(np.int64)
    return smallest(np.cumsum(steps >> 1 ^ -(steps & 1)))


def _transposed(values: Numbers) -> bytes:
    """The first byte of each number, then the second of each."""
    raw = np.ascontiguousarray(values).view(np.uint8)
    return raw.reshape(len(values), values.itemsize).T.tobytes()
