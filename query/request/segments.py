"""Segments in filters: `{"segment": "<id or name>"}` stands for the filters of the segment."""

from collections.abc import Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

from query.request.filters import Filter
from query.request.suggestions import unknown_name_message
from schemas.errors import Malformed
from schemas.registry import SavedRecords, Segment


def expand_segments(
    filters: Sequence[Filter], saved: SavedRecords, path: str = "filters"
) -> list[Filter]:
    """The filters with each segment replaced by its own; Malformed for an unknown segment.

    The first filter of a segment takes its place and the others come last, so that the position of
    every other filter stays as the caller knows it.
    """
    parts = [_expand(filter_, saved, f"{path}[{i}]") for i, filter_ in enumerate(filters)]
    first = [part[0] for part in parts]
    return [*first, *chain.from_iterable(part[1:] for part in parts)]


def _expand(filter_: Filter, saved: SavedRecords, path: str) -> list[Filter]:
    """The filters that a filter stands for; all of them hold."""
    if filter_.segment is not None:
        if filter_.is_condition or filter_.groups:
            raise Malformed(f"'{path}' names a segment; it can have no other member")
        return _filters_of(filter_.segment, saved, path)
    if filter_.groups:
        return [_expand_groups(filter_, saved, path)]
    return [filter_]


def _expand_groups(filter_: Filter, saved: SavedRecords, path: str) -> Filter:
    return replace(
        filter_,
        all_of=_expand_parts(filter_.all_of, saved, f"{path}.and"),
        any_of=_expand_parts(filter_.any_of, saved, f"{path}.or"),
        none_of=filter_.none_of and _as_one(_expand(filter_.none_of, saved, f"{path}.not")),
    )


def _expand_parts(
    parts: Sequence[Filter] | None, saved: SavedRecords, path: str
) -> list[Filter] | None:
    if parts is None:
        return None
    return [_as_one(_expand(part, saved, f"{path}[{i}]")) for i, part in enumerate(parts)]


def _as_one(filters: list[Filter]) -> Filter:
    return filters[0] if len(filters) == 1 else Filter(all_of=filters)


def _filters_of(reference: str, saved: SavedRecords, path: str) -> list[Filter]:
    segment = saved.find(Segment, reference)
    if segment is None:
        names = [known.name for known in saved.of(Segment)]
        raise Malformed(unknown_name_message("segment", reference, names, f" in '{path}'"))
    return msgspec.convert(segment.filters, list[Filter])
