"""File format of a part: a header in JSON, then the columns, each compressed by itself.

A reader takes the columns of the tables that it needs. Lengths and checksums are in the header.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.part import Columns, Part

MAGIC = b"TMPART1\n"
HEAD = struct.Struct("<8sII")
"""Magic, bytes of the header, checksum of the header."""
CODEC = "zstd"
VISITORS = ""
"""In place of the table's name: the visitors of all tables."""


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
    texts: Mapping[str, Mapping[str, Sequence[str]]]
    """By table and column."""


def write_part(file: IO[bytes], part: Part) -> None:
    """Write a part."""
    arrays = [(VISITORS, VISITORS, part.visitors)]
    for table, columns in part.tables.items():
        arrays += [(table, name, values) for name, values in columns.numbers.items()]
    stored, pieces, offset = [], [], 0
    for table, name, values in arrays:
        raw = np.ascontiguousarray(values).tobytes()
        piece = pa.compress(raw, CODEC, asbytes=True)
        checksum = zlib.crc32(piece)
        stored.append(
            _StoredColumn(table, name, values.dtype.str, len(raw), offset, len(piece), checksum)
        )
        pieces.append(piece)
        offset += len(piece)
    texts = {name: columns.texts for name, columns in part.tables.items()}
    header = zlib.compress(msgspec.json.encode(_Header(stored, texts)))
    file.write(HEAD.pack(MAGIC, len(header), zlib.crc32(header)))
    file.writelines([header, *pieces])


def read_part(file: IO[bytes], tables: Iterable[str]) -> Part:
    """These tables of a part; PartDamaged when the file is not whole."""
    header, start = _read_header(file)
    columns: dict[str, dict[str, Numbers]] = {table: {} for table in (VISITORS, *tables)}
    for column in header.columns:
        if (of_table := columns.get(column.table)) is not None:
            of_table[column.name] = _read_column(file, start, column)
    try:
        visitors = columns.pop(VISITORS)[VISITORS]
        return Part(visitors, {t: Columns(c, header.texts[t]) for t, c in columns.items()})
    except KeyError as error:
        raise PartDamaged(f"no {error}") from error


def _read_header(file: IO[bytes]) -> tuple[_Header, int]:
    """The header, and where the columns begin."""
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise PartDamaged("too short")
    magic, size, checksum = HEAD.unpack(head)
    text = file.read(size)
    if magic != MAGIC or len(text) != size or zlib.crc32(text) != checksum:
        raise PartDamaged("another header")
    return msgspec.json.decode(zlib.decompress(text), type=_Header), HEAD.size + size


def _read_column(file: IO[bytes], start: int, column: _StoredColumn) -> Numbers:
    file.seek(start + column.offset)
    piece = file.read(column.stored_size)
    if len(piece) != column.stored_size or zlib.crc32(piece) != column.checksum:
        raise PartDamaged(f"column {column.name} of {column.table}")
    raw = pa.decompress(piece, column.size, CODEC, asbytes=True)
    values: Numbers = np.frombuffer(raw, np.dtype(column.dtype))
    return values
