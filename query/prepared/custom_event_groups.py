"""Custom events from parts: in all, by bucket, by path, and by bucket and name."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.form_ranges import OfBuckets, OfWholeRange
from query.prepared.joined_parts import JoinedParts
from query.prepared.other_events import TABLES, OtherEvents
from query.prepared.quarters import Quarters


class CustomEventTotals(OfWholeRange, frozen=True):
    """One row: events, names, visitors, sessions, pages."""

    tables: ClassVar[Sequence[str]] = TABLES

    nothing: ClassVar[Row] = (0, 0, 0, 0, 0)
    """The row of no events."""

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        events = OtherEvents(joined, are_outbound=False)
        return _counts(events, np.zeros(events.row_count, np.intp), 1)


class CustomEventsByBucket(OfBuckets, frozen=True):
    """The same for each bucket that has events, behind its number."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        events = OtherEvents(joined, are_outbound=False)
        counts = _counts(events, events.buckets(quarters.buckets), len(quarters.numbers))
        both = zip(quarters.numbers, counts, strict=True)
        return [(number, *row) for number, row in both if row[0]]


class CustomEventsByQuarter(OfWholeRange, frozen=True):
    """A row for each quarter of an hour that has events: its number since 1970, and theirs."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        events = OtherEvents(joined, are_outbound=False)
        count = quarters.end - quarters.first
        counts = events.events(events.buckets(np.arange(count)), count)
        having = np.flatnonzero(counts)
        return list(zip((having + quarters.first).tolist(), counts[having].tolist(), strict=True))


class CustomEventsByPath(OfWholeRange, frozen=True):
    """A row for each path: events, names, visitors; most events first."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        events = OtherEvents(joined, are_outbound=False)
        numbers, texts = events.texts("path")
        count = len(texts)
        made = zip(
            texts,
            events.events(numbers, count).tolist(),
            events.distinct_texts("name", numbers, count).tolist(),
            events.visitors(numbers, count).tolist(),
            strict=True,
        )
        of_paths = [row for row in made if row[0] is not None and row[1]]
        return sorted(of_paths, key=lambda row: (-row[1], row[0]))


class CustomEventsByBucketAndName(OfBuckets, frozen=True):
    """A row for each bucket and name that has events: their number."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        events = OtherEvents(joined, are_outbound=False)
        numbers, names = events.texts("name")
        pairs = events.buckets(quarters.buckets) * len(names) + numbers
        found, groups = np.unique(pairs, return_inverse=True)
        counts = events.events(groups, len(found)).tolist()
        made = zip(*np.divmod(found, len(names)), counts, strict=True)
        rows = [(quarters.numbers[i], names[name], count) for i, name, count in made]
        return sorted(rows, key=lambda row: (row[0], -row[2], row[1]))


def _counts(events: OtherEvents, groups: Numbers, count: int) -> list[Row]:
    """Events, names, visitors, sessions and pages of each of `count` groups."""
    columns = (
        events.events(groups, count),
        events.distinct_texts("name", groups, count),
        events.visitors(groups, count),
        events.sessions(groups, count),
        events.distinct_texts("path", groups, count),
    )
    return list(zip(*(each.tolist() for each in columns), strict=True))
