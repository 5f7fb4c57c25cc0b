"""File format of an index: a header in JSON, then its arrays, each compressed by itself.

The header has the index as a tree, in which arrays are numbers and structs have their names.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.prepared.breakdown import GroupsIndex
from query.prepared.checked_file import Block, Damaged, pack, read_block, read_header, write_header
from query.prepared.group_index import GroupIndex
from query.prepared.numbering import Numbering
from query.prepared.ordered_durations import OrderedDurations
from query.prepared.page_views import OrderedViews, PageViewIndex
from query.prepared.part_folder import PartKey
from query.prepared.row_index import RowIndex
from query.prepared.session_lists import ListedSessions
from query.prepared.session_places import SessionPlaces
from query.prepared.session_values import SessionValues
from query.prepared.sessions import Sessions
from query.prepared.totals_index import TotalsIndex
from query.prepared.visit_index import LongVisits
from query.prepared.visit_page_index import VisitPageIndex
from query.prepared.visitor_entries import VisitorEntries

MAGIC = b"TMINDEX1"
SOURCES = (
    "breakdown", "crossing_sessions", "group_index", "group_numbers", "joined_parts",
    "kept_positions", "numbered_parts", "numbering", "ordered_durations", "page_views", "part_join",
    "part_texts", "row_columns", "row_index", "session_lists", "session_places",
    "session_values", "sessions", "totals_index", "visit_breakdown", "visit_index",
    "visit_page_index", "visit_pages", "visitor_entries",
)  # fmt: skip
KINDS: Mapping[str, type[Struct]] = {
    kind.__name__: kind
    for kind in (
        GroupIndex, GroupsIndex, LongVisits, Numbering, PartKey, Sessions, TotalsIndex,
        VisitorEntries, VisitPageIndex, PageViewIndex, OrderedViews, SessionValues,
        OrderedDurations, SessionPlaces, ListedSessions, RowIndex,
    )
}  # fmt: skip
ARRAY, KIND, PAIRS = "array", "struct", "pairs"
"""Members of the tree: the number of an array, the name of a struct, entries of a mapping."""

_Tree: TypeAlias = Any


@cache
def revision() -> str:
    """Of the sources that make indexes: what another one made is not read."""
    folder = Path(__file__).parent
    sources = b"".join((folder / f"{name}.py").read_bytes() for name in SOURCES)
    return sha256(sources).hexdigest()[:8]


class _StoredArray(Struct, frozen=True, array_like=True):
    """Where the numbers of an array are."""

    dtype: str
    shape: tuple[int, ...]
    block: Block


class _Header(Struct, frozen=True):
    tree: _Tree
    arrays: Sequence[_StoredArray]


def write_index(file: IO[bytes], path: str, index: object) -> None:
    """Write an index: a struct of arrays, texts, numbers and further structs.

    `path` is the one of the file in its folder.
    """
    arrays: list[Numbers] = []
    tree = _tree(index, arrays)
    packed = [pack(each.tobytes()) for each in arrays]
    stored = [
        _StoredArray(each.dtype.str, each.shape, block)
        for each, (block, _) in zip(arrays, packed, strict=True)
    ]
    write_header(file, MAGIC, path, msgspec.json.encode(_Header(tree, stored)))
    file.writelines(content for _, content in packed)


def read_index(file: IO[bytes], path: str) -> Any:
    """The index; Damaged when the file is not whole, or another than the one of this path."""
    header = msgspec.json.decode(read_header(file, MAGIC, path), type=_Header)
    arrays = [
        np.frombuffer(read_block(file, each.block), each.dtype).reshape(each.shape)
        for each in header.arrays
    ]
    return _value(header.tree, arrays)


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
        raise Damaged("an unknown kind of index")
    return kind(**{name: _value(each, arrays) for name, each in tree.items()})
