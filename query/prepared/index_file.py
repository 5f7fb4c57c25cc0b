"""File format of an index: a header in JSON, then its arrays, each compressed by itself.

The header has the index as a tree, in which arrays are numbers and structs have their names.
Lengths and checksums are in the header: a file that is not whole is not used.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import IO, Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.breakdown import GroupsIndex
from query.prepared.group_index import GroupIndex
from query.prepared.numbering import Numbering
from query.prepared.part_folder import PartKey
from query.prepared.sessions import Sessions
from query.prepared.totals_index import TotalsIndex
from query.prepared.visit_index import LongVisits
from query.prepared.visit_page_index import VisitPageIndex

MAGIC = b"TMINDEX1"
"""Its number goes up with any change of what an index holds."""
HEAD = struct.Struct("<8sIII")
"""Magic, bytes of the header as text and as it is stored, checksum of the latter."""
CODEC = "zstd"
KINDS: Mapping[str, type[Struct]] = {
    kind.__name__: kind
    for kind in (
        GroupIndex, GroupsIndex, LongVisits, Numbering, PartKey, Sessions, TotalsIndex,
        VisitPageIndex,
    )
}  # fmt: skip
ARRAY, KIND, PAIRS = "array", "kind", "pairs"
"""Members of the tree: the number of an array, the name of a struct, entries of a mapping."""

_Tree: TypeAlias = Any


class IndexDamaged(Exception):
    """The bytes are not those of an index."""


class _StoredArray(Struct, frozen=True, array_like=True):
    """Where the numbers of an array are."""

    dtype: str
    shape: tuple[int, ...]
    size: int
    """Bytes, uncompressed."""
    stored_size: int
    checksum: int


class _Header(Struct, frozen=True):
    tree: _Tree
    arrays: Sequence[_StoredArray]


def write_index(file: IO[bytes], index: object) -> None:
    """Write an index, a struct of arrays, texts, numbers and further structs."""
    from pyarrow import compress  # large; services that prepare nothing go without it

    arrays: list[Numbers] = []
    tree = _tree(index, arrays)
    pieces = [compress(np.ascontiguousarray(each).data, CODEC, asbytes=True) for each in arrays]
    stored = [
        _StoredArray(each.dtype.str, each.shape, each.nbytes, len(piece), zlib.crc32(piece))
        for each, piece in zip(arrays, pieces, strict=True)
    ]
    text = msgspec.json.encode(_Header(tree, stored))
    header = compress(text, CODEC, asbytes=True)
    file.write(HEAD.pack(MAGIC, len(text), len(header), zlib.crc32(header)))
    file.writelines([header, *pieces])


def read_index(file: IO[bytes]) -> Any:
    """The index; IndexDamaged when the file is not whole."""
    from pyarrow import decompress  # as in `write_index`

    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise IndexDamaged("too short")
    magic, text_size, size, checksum = HEAD.unpack(head)
    stored = file.read(size)
    if magic != MAGIC or len(stored) != size or zlib.crc32(stored) != checksum:
        raise IndexDamaged("another header")
    text = decompress(stored, text_size, CODEC, asbytes=True)
    header = msgspec.json.decode(text, type=_Header)
    return _value(header.tree, [_read_array(file, each) for each in header.arrays])


def _read_array(file: IO[bytes], array: _StoredArray) -> Numbers:
    from pyarrow import decompress  # as in `write_index`

    piece = file.read(array.stored_size)
    if len(piece) != array.stored_size or zlib.crc32(piece) != array.checksum:
        raise IndexDamaged("an array")
    raw = decompress(piece, array.size, CODEC, asbytes=True) if array.size else b""
    return np.frombuffer(raw, array.dtype).reshape(array.shape)


def _tree(value: object, arrays: list[Numbers]) -> _Tree:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {ARRAY: len(arrays) - 1}
    if isinstance(value, Struct):
        names = type(value).__struct_fields__
        own = {name: _tree(getattr(value, name), arrays) for name in names}
        return {KIND: type(value).__name__, **own}
    if isinstance(value, Mapping):
        return {PAIRS: [[_tree(k, arrays), _tree(v, arrays)] for k, v in value.items()]}
    return value


def _value(tree: _Tree, arrays: Sequence[Numbers]) -> Any:
    if isinstance(tree, list):
        return [tuple(each) if isinstance(each, list) else each for each in tree]
    if not isinstance(tree, dict):
        return tree
    if ARRAY in tree:
        return arrays[tree[ARRAY]]
    if PAIRS in tree:
        return {_value(key, arrays): _value(value, arrays) for key, value in tree[PAIRS]}
    kind = KINDS.get(tree.pop(KIND, ""))
    if kind is None or {*tree} != {field.name for field in structs.fields(kind)}:
        raise IndexDamaged("an unknown kind of index")
    return kind(**{name: _value(each, arrays) for name, each in tree.items()})
