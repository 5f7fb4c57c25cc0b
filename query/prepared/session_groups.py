"""Sessions from parts in groups: by how long they were, by a fact of the visit, by first bucket."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.form_ranges import OfBuckets, OfWholeRange
from query.prepared.group_numbers import sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part_tables import VISITS
from query.prepared.quarters import Quarters
from query.prepared.range_sessions import session_columns
from query.prepared.session_values import fact_values
from query.prepared.sessions import UNTOLD
from query.prepared.totals_index import TABLES


class SessionsByDuration(OfWholeRange, frozen=True):
    """A row for each range of durations that has sessions: their number, and their visitors."""

    ranges: tuple[tuple[int, str], ...]
    """The least milliseconds of each range, in ascending order from 0, and its name."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        joined = joined.whole_sessions
        duration_ms, visitors = session_columns(joined, "duration_ms", "visitors")
        groups = np.zeros(len(duration_ms), np.uint8)
        for from_ms, _ in self.ranges[1:]:
            groups += duration_ms >= from_ms
        counts = _counts(joined, visitors, groups, len(self.ranges))
        if counts is None:
            return None
        both = zip(self.ranges, zip(*counts, strict=True), strict=True)
        rows = [(name, *numbers) for (_, name), numbers in both if numbers[0]]
        return sorted(rows, key=lambda row: (-row[1], row[0]))


class SessionsByFact(OfWholeRange, frozen=True):
    """A row for each value of a fact of the visit: sessions, visitors and durations."""

    fact: str
    otherwise: str
    """The value of visits without one."""
    tables: ClassVar[Sequence[str]] = TABLES
    visit_tables: ClassVar[Sequence[str]] = (VISITS.name,)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        joined = joined.whole_sessions
        if (values := fact_values(joined, self.fact)) is None:
            return None
        keys, duration_ms, visitors = session_columns(joined, "keys", "duration_ms", "visitors")
        named = [self.otherwise if text is None else text for text in values.texts]
        names = sorted({*named})
        place = [names.index(text) for text in named]
        groups = np.array(place, np.int64)[values.numbers[keys]]
        counts = _counts(joined, visitors, groups, len(names))
        if counts is None:
            return None
        durations = sums(groups, duration_ms, len(names)).tolist()
        made = [row for row in zip(names, *counts, durations, counts[0], strict=True) if row[1]]
        return sorted(made, key=lambda row: (-row[1], row[0]))


class SessionsByBucket(OfBuckets, frozen=True):
    """A row for each bucket in which sessions began: their number, visitors and durations."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:
        count = len(quarters.numbers)
        joined = joined.whole_sessions
        own, duration_ms, visitors = session_columns(joined, "quarters", "duration_ms", "visitors")
        groups = quarters.buckets[own - joined.first]
        counts = _counts(joined, visitors, groups, count)
        if counts is None:
            return None
        durations = sums(groups, duration_ms, count).tolist()
        made = zip(quarters.numbers, *counts, durations, counts[0], strict=True)
        return [row for row in made if row[1]]


def _counts(
    joined: JoinedParts, visitors: Numbers, groups: Numbers, count: int
) -> tuple[Sequence[int], Sequence[int]] | None:
    """Sessions and distinct visitors of each group; None when a visitor is not told."""
    if (visitors == UNTOLD).any():
        return None
    distinct = joined.distinct(groups, visitors, count)
    return np.bincount(groups, minlength=count).tolist(), distinct.tolist()
