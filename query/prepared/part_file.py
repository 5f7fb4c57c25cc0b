"""File format of a part: a header in JSON, then the columns, each compressed by itself.

A reader takes the columns of the tables that it needs. Lengths and checksums are in the header.
Before compression the bytes of a column are transposed, the first byte of each number first.
"""

import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import IO

import msgspec
import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.part import SESSION_COLUMN, VISITOR_COLUMN, Part, by_quarter

MAGIC = b"TMPART2\n"
HEAD = struct.Struct("<8sIII")
"""Magic, bytes of the header as text and as it is stored, checksum of the latter."""
CODEC = "zstd"
HEADER_LEVEL = 9
"""Finds the texts that several columns have; numbers gain nothing from it."""
OF_ALL = ""
"""In place of the table's name: what belongs to all tables."""
HASHES = {"visitors": VISITOR_COLUMN, "sessions": SESSION_COLUMN}
"""The columns of hashes, and the columns of tables with positions in them."""

_Texts = dict[str, list[str]]


class PartDamaged(Exception):
    """The bytes are not those of a part."""


class _StoredColumn(Struct, frozen=True, array_like=True):
    """Where the numbers of a column are."""

    table: str
    name: str
    dtype: str
    size: int
    """Bytes, uncompressed."""
    offset: int
    stored_size: int
    checksum: int


class _Header(Struct, frozen=True):
    columns: Sequence[_StoredColumn]
    texts: Mapping[str, msgspec.Raw]
    """By table: those of each column."""


def write_part(file: IO[bytes], part: Part) -> None:
    """Write a part."""
    from pyarrow import Codec, compress  # large; services that prepare nothing go without it

    arrays = {(t, name): v for t, c in part.tables.items() for name, v in c.stored.items()}
    arrays |= {(OF_ALL, name): part.hashes[column] for name, column in HASHES.items()}
    stored, pieces, offset = [], [], 0
    for (table, name), values in arrays.items():
        raw = _transposed(values)
        piece = compress(raw, CODEC, asbytes=True)
        checksum = zlib.crc32(piece)
        stored.append(
            _StoredColumn(table, name, values.dtype.str, len(raw), offset, len(piece), checksum)
        )
        pieces.append(piece)
        offset += len(piece)
    texts = {name: msgspec.Raw(msgspec.json.encode(c.texts)) for name, c in part.tables.items()}
    text = msgspec.json.encode(_Header(stored, texts))
    header = Codec(CODEC, compression_level=HEADER_LEVEL).compress(text, asbytes=True)
    file.write(HEAD.pack(MAGIC, len(text), len(header), zlib.crc32(header)))
    file.writelines([header, *pieces])


def read_part(file: IO[bytes], names: Collection[str]) -> Part:
    """The tables of a part with these names, and the hashes of their columns or of columns named.

    PartDamaged when the file is not whole.
    """
    header, start = _read_header(file)
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


def _transposed(values: Numbers) -> bytes:
    """The first byte of each number, then the second of each."""
    raw = np.ascontiguousarray(values).view(np.uint8)
    return raw.reshape(len(values), values.itemsize).T.tobytes()


def _read_header(file: IO[bytes]) -> tuple[_Header, int]:
    """The header, and where the columns begin."""
    from pyarrow import decompress  # as in `write_part`

    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise PartDamaged("too short")
    magic, text_size, size, checksum = HEAD.unpack(head)
    stored = file.read(size)
    if magic != MAGIC or len(stored) != size or zlib.crc32(stored) != checksum:
        raise PartDamaged("another header")
    text = decompress(stored, text_size, CODEC, asbytes=True)
    return msgspec.json.decode(text, type=_Header), HEAD.size + size


def _read_column(file: IO[bytes], start: int, column: _StoredColumn) -> Numbers:
    from pyarrow import decompress  # as in `write_part`

    if not column.size:
        return np.empty(0, column.dtype)
    file.seek(start + column.offset)
    piece = file.read(column.stored_size)
    if len(piece) != column.stored_size or zlib.crc32(piece) != column.checksum:
        raise PartDamaged(f"column {column.name} of {column.table}")
    raw = decompress(piece, column.size, CODEC, asbytes=True)
    dtype = np.dtype(column.dtype)
    by_byte = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
    rows = np.empty((by_byte.shape[1], dtype.itemsize), np.uint8)
    for place, values in enumerate(by_byte):  # three times as fast as to transpose at once
        rows[:, place] = values
    numbers: Numbers = rows.view(dtype).reshape(-1)
    return numbers
