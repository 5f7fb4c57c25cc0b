"""Custom events by name from parts: their number, visitors, sessions, first and last time."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.group_numbers import distinct_values, greatest, sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part_tables import CUSTOM_EVENTS, NO_SESSION, QUARTER_MS, label
from query.prepared.quarters import Quarters, whole_range
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
            distinct_values(groups, rows["session_key"], count, NO_SESSION).tolist(),
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
    first = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first, groups, start)
    return first, greatest(groups, start + rows["span_ms"], count)
