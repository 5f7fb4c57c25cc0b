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
from query.prepared.range_sessions import sessions_of
from query.prepared.session_values import session_values
from query.prepared.sessions import UNTOLD, Sessions
from query.prepared.totals_index import TABLES


class SessionsByDuration(OfWholeRange, frozen=True):
    """A row for each range of durations that has sessions: their number, and their visitors."""

    ranges: tuple[tuple[int, str], ...]
    """The least milliseconds of each range, in ascending order from 0, and its name."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:  # noqa: ARG002
        sessions = sessions_of(joined)
        least_ms = [from_ms for from_ms, _ in self.ranges]
        groups = np.searchsorted(least_ms, sessions.duration_ms, side="right") - 1
        counts = _counts(joined, sessions, groups, len(self.ranges))
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
        if (values := session_values(joined, self.fact)) is None:
            return None
        sessions = sessions_of(joined)
        named = [self.otherwise if text is None else text for text in values.texts]
        names = sorted({*named})
        place = [names.index(text) for text in named]
        groups = np.array(place, np.int64)[values.numbers[sessions.keys]]
        counts = _counts(joined, sessions, groups, len(names))
        if counts is None:
            return None
        durations = sums(groups, sessions.duration_ms, len(names)).tolist()
        made = [row for row in zip(names, *counts, durations, counts[0], strict=True) if row[1]]
        return sorted(made, key=lambda row: (-row[1], row[0]))


class SessionsByBucket(OfBuckets, frozen=True):
    """A row for each bucket in which sessions began: their number, visitors and durations."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row] | None:
        sessions, count = sessions_of(joined), len(quarters.numbers)
        groups = quarters.buckets[sessions.quarters - joined.first]
        counts = _counts(joined, sessions, groups, count)
        if counts is None:
            return None
        durations = sums(groups, sessions.duration_ms, count).tolist()
        made = zip(quarters.numbers, *counts, durations, counts[0], strict=True)
        return [row for row in made if row[1]]


def _counts(
    joined: JoinedParts, sessions: Sessions, groups: Numbers, count: int
) -> tuple[Sequence[int], Sequence[int]] | None:
    """Sessions and distinct visitors of each group; None when a visitor is not told."""
    if (sessions.visitors == UNTOLD).any():
        return None
    visitors = joined.distinct(groups, sessions.visitors, count)
    return np.bincount(groups, minlength=count).tolist(), visitors.tolist()
