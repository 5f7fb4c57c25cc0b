"""Custom events by name from parts: their number, visitors, sessions, first and last time."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.joined_parts import JoinedParts
from query.prepared.part_tables import CUSTOM_EVENTS, NO_SESSION, QUARTER_MS, label
from query.prepared.quarters import Quarters, whole_range
from query.prepared.totals import sums
from query.request.buckets import Granularity
from query.request.time_range import TimeRange


class CustomEventNames(Struct, frozen=True):
    """A row for each name, most visitors first, then most events."""

    tables: Sequence[str] = (CUSTOM_EVENTS.name,)
    visit_tables: Sequence[str] = ()

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        rows = joined.columns(CUSTOM_EVENTS.name)
        numbers, texts = joined.text_numbers(CUSTOM_EVENTS.name, label("name"))
        used, groups = np.unique(numbers, return_inverse=True)
        count = len(used)
        visitors = joined.distinct(groups, rows["visitor"], count).tolist()
        first, last = _times(rows, groups, count)
        whole = sum(visitors)
        made = zip(
            [texts[number] for number in used.tolist()],
            sums(groups, rows["row_count"], count).tolist(),
            visitors,
            _distinct_sessions(rows["session_key"], groups, count).tolist(),
            last.tolist(),
            first.tolist(),
            sums(groups, rows["with_properties"], count).tolist(),
            visitors,
            [whole] * count,
            strict=True,
        )
        return sorted(made, key=lambda row: (-row[2], -row[1], row[0]))


def _times(rows: Mapping[str, Numbers], groups: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Unix milliseconds of the first and of the last event of each group."""
    start = rows["quarter"].astype(np.int64) * QUARTER_MS + rows["start_ms"]
    first, last = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    np.minimum.at(first, groups, start)
    np.maximum.at(last, groups, start + rows["span_ms"])
    return first, last


def _distinct_sessions(sessions: Numbers, groups: Numbers, count: int) -> Numbers:
    """The number of sessions of each group."""
    order = np.lexsort((sessions, groups))
    sessions, groups = sessions[order], groups[order]
    is_same = (sessions[1:] == sessions[:-1]) & (groups[1:] == groups[:-1])
    is_first = np.concatenate([[True], ~is_same])[: len(order)]
    return np.bincount(groups[is_first & (sessions != NO_SESSION)], minlength=count)
