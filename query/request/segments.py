"""Segments in filters: `{"segment": "<id or name>"}` stands for the filters of the segment.

So do the saved goals in what visitors did: `{"has_done": {"goal": "<id or name>"}}`.
"""

from collections.abc import Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

from query.request.filter_struct import MAX_DEPTH, Behavior, Filter, with_parts
from query.request.saved_goals import members_of_act
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


def _expand(filter_: Filter, saved: SavedRecords, path: str, depth: int = 0) -> list[Filter]:
    """The filters that a filter stands for; all of them hold."""
    if filter_.segment is not None:
        if filter_.is_condition or filter_.groups or filter_.behaviors:
            raise Malformed(f"'{path}' names a segment; it can have no other member")
        return filters_of_segment(filter_.segment, saved, path)
    if filter_.behaviors:
        return [_expand_behaviors(filter_, saved, path)]
    if not filter_.groups or depth == MAX_DEPTH:  # what is nested deeper is refused when compiled
        return [filter_]
    return [_expand_groups(filter_, saved, path, depth + 1)]


def _expand_behaviors(filter_: Filter, saved: SavedRecords, path: str) -> Filter:
    """The filter with what is saved in place of names in what visitors did."""

    def expanded(word: str, behavior: Behavior) -> Behavior:
        at = f"{path}.{word}"
        if any(part.behaviors for each in behavior.filters for part in with_parts(each)):
            raise Malformed(f"'{at}.filters' cannot hold 'has_done' or 'has_not_done' again")
        filters = expand_segments(behavior.filters, saved, f"{at}.filters")
        act = {name: getattr(behavior, name) for name in ("event", "path", "goal", "name")}
        if act["goal"] is act["name"] is None:
            return replace(behavior, filters=filters)
        found = members_of_act(act, saved, at)
        return Behavior(
            event=found.get("event"),
            path=found.get("path"),
            filters=[*found.get("filters", ()), *filters],
            within=behavior.within,
            times=behavior.times,
        )

    return replace(filter_, **{word: expanded(word, each) for word, each in filter_.behaviors})


def _expand_groups(filter_: Filter, saved: SavedRecords, path: str, depth: int) -> Filter:
    none_of = filter_.none_of
    return replace(
        filter_,
        all_of=_expand_parts(filter_.all_of, saved, f"{path}.and", depth),
        any_of=_expand_parts(filter_.any_of, saved, f"{path}.or", depth),
        none_of=none_of and _as_one(_expand(none_of, saved, f"{path}.not", depth)),
    )


def _expand_parts(
    parts: Sequence[Filter] | None, saved: SavedRecords, path: str, depth: int
) -> list[Filter] | None:
    if parts is None:
        return None
    return [_as_one(_expand(part, saved, f"{path}[{i}]", depth)) for i, part in enumerate(parts)]


def _as_one(filters: list[Filter]) -> Filter:
    return filters[0] if len(filters) == 1 else Filter(all_of=filters)


def filters_of_segment(reference: str, saved: SavedRecords, path: str) -> list[Filter]:
    """The filters of a saved segment, all of which hold; Malformed for an unknown one."""
    segment = saved.find(Segment, reference)
    if segment is None:
        names = [known.name for known in saved.of(Segment)]
        raise Malformed(unknown_name_message("segment", reference, names, f" in '{path}'"))
    filters = msgspec.convert(segment.filters, list[Filter])
    return expand_segments(filters, saved, f"{path}.segment.filters")
