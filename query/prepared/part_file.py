"""File format of a part: a header in JSON, then the columns, each compressed by itself.

A reader takes the columns of the tables that it needs. Lengths and checksums are in the header.
Positions of visitors and sessions are stored as differences, as rows are in their order. Before
compression the bytes of a column are transposed, the first byte of each number first.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import IO

import msgspec
import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.checked_file import Block, pack, read_block, read_header, write_header
from query.prepared.part import SESSION_COLUMN, VISITOR_COLUMN, Part, by_quarter, smallest

MAGIC = b"TMPART4\n"
HEADER_LEVEL = 9
"""Finds the texts that several columns have; numbers gain nothing from it."""
OF_ALL = ""
"""In place of the table's name: what belongs to all tables."""
HASHES = {"visitors": VISITOR_COLUMN, "sessions": SESSION_COLUMN}
"""The columns of hashes, and the columns of tables with positions in them."""

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


def read_part(file: IO[bytes], path: str, names: Collection[str]) -> Part:
    """The tables of a part with these names, and the hashes of their columns or of columns named.

    Damaged when the file is not whole, or another than the one of this path.
    """
    header = msgspec.json.decode(read_header(file, MAGIC, path), type=_Header)
    start = file.tell()
    stored: dict[str, dict[str, Numbers]] = {name: {} for name in names if name in header.texts}
    for column in header.columns:
        if (columns := stored.get(column.table)) is not None:
            columns[column.name] = _read_column(file, start, column)
    needed = {*names, *(name for columns in stored.values() for name in columns)}
    hashes = {
        HASHES[column.name]: _read_column(file, start, column)
        for column in header.columns
        if column.table == OF_ALL and HASHES[column.name] in needed
    }
    texts = {name: msgspec.json.decode(header.texts[name], type=_Texts) for name in stored}
    return Part(hashes, {name: by_quarter(each, texts[name]) for name, each in stored.items()})


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


def _read_column(file: IO[bytes], start: int, column: _StoredColumn) -> Numbers:
    file.seek(start + column.offset)
    raw = read_block(file, column.block)
    dtype = np.dtype(column.dtype)
    by_byte = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
    rows = np.empty((by_byte.shape[1], dtype.itemsize), np.uint8)
    for place, values in enumerate(by_byte):  # three times as fast as to transpose at once
        rows[:, place] = values
    numbers: Numbers = rows.view(dtype).reshape(-1)
    return from_differences(numbers) if column.name in HASHES.values() else numbers
