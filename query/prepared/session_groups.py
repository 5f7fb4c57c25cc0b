"""Sessions by bucket, by duration, by a fact of their visit and by the pages that they saw."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.breakdown import Texts, groups_by, text_ranks
from query.prepared.groups_index import sums
from query.prepared.quarter_hours import BucketPlan, QuarterHours, RangePlan
from query.prepared.rollup import SESSION_COLUMN
from query.prepared.rollup_tables import FACTS, PAGES, VISITS
from query.prepared.rollup_view import RollupView
from query.prepared.sessions_index import UNTOLD
from query.prepared.totals_index import TABLES, session_columns
from query.prepared.visits_index import fact_values


class SessionsByDuration(RangePlan, frozen=True):
    """A row for each range of durations that has sessions: their number, and their visitors."""

    ranges: tuple[tuple[int, str], ...]
    """The least milliseconds of each range, in ascending order from 0, and its name."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:  # noqa: ARG002
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


class SessionsByFact(RangePlan, frozen=True):
    """A row for each value of a fact of the visit: sessions, visitors and durations."""

    fact: str
    otherwise: str
    """The value of visits without one."""
    tables: ClassVar[Sequence[str]] = TABLES
    visit_tables: ClassVar[Sequence[str]] = (VISITS.name,)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:  # noqa: ARG002
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


class SessionsByBucket(BucketPlan, frozen=True):
    """A row for each bucket in which sessions began: their number, visitors and durations."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:
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
    joined: RollupView, visitors: Numbers, groups: Numbers, count: int
) -> tuple[Sequence[int], Sequence[int]] | None:
    """Sessions and distinct visitors of each group; None when a visitor is not told."""
    if (visitors == UNTOLD).any():
        return None
    distinct = joined.distinct(groups, visitors, count)
    return np.bincount(groups, minlength=count).tolist(), distinct.tolist()


class GroupedSessions(RangePlan, frozen=True):
    """A row for each group: its texts together, each of them, page views, visitors, sessions.

    Most visitors come first. No text of a column but the first is the empty text.
    """

    columns: tuple[str, ...]
    tables: ClassVar[Sequence[str]] = (FACTS.name,)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
        texts, *counts = count_sessions(joined, self.columns)
        made = [
            (" ".join((own[0], *filter(None, own[1:]))), *own, *numbers)
            for own, *numbers in zip(texts, *(each.tolist() for each in counts), strict=True)
        ]
        return sorted(made, key=lambda row: (-row[-2], -row[-3], *row[:-3]))


def count_sessions(
    joined: RollupView, columns: Sequence[str]
) -> tuple[Sequence[Texts], Numbers, Numbers, Numbers]:
    """Texts, page views, visitors and sessions of each group that has page views."""
    groups = groups_by(joined, columns)
    of_sessions = groups_by(joined, columns, of=SESSION_COLUMN)
    sessions = of_sessions.visitors
    if of_sessions.texts != groups.texts:
        number = {texts: i for i, texts in enumerate(of_sessions.texts)}
        sessions = sessions[[number[texts] for texts in groups.texts]]
    having = np.flatnonzero(groups.views)
    texts = [groups.texts[i] for i in having.tolist()]
    return texts, groups.views[having], groups.visitors[having], sessions[having]


class SessionPages(RangePlan, frozen=True):
    """A row for each path that was viewed, most sessions first."""

    tables: ClassVar[Sequence[str]] = (PAGES.name,)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
        texts, _, visitors, sessions = count_sessions(joined, ("path",))
        order = np.lexsort((text_ranks(texts), -visitors, -sessions))
        counts = zip(*(each[order].tolist() for each in (sessions, visitors)), strict=True)
        return [(*texts[i], *own) for i, own in zip(order.tolist(), counts, strict=True)]
