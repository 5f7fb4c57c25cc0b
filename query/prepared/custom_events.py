"""Custom events and outbound clicks by name, path, quarter-hour and link."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import number_groups
from query.prepared.groups_index import distinct_values, greatest, least, sums
from query.prepared.quarter_hours import BucketPlan, QuarterHours, RangePlan
from query.prepared.rollup import SESSION_COLUMN
from query.prepared.rollup_tables import OTHER_EVENTS, QUARTER_MS, label
from query.prepared.rollup_view import RollupView
from query.prepared.shared_ids import EncodedTexts

TABLES: Sequence[str] = (OTHER_EVENTS.name,)


class OtherEvents:
    """The rows of one of the two kinds."""

    def __init__(self, joined: RollupView, *, are_outbound: bool) -> None:
        self._joined = joined
        domains, _ = joined.text_numbers(OTHER_EVENTS.name, label("outbound_domain"))
        self._at = np.flatnonzero((domains != NO_TEXT) == are_outbound)
        self._columns: dict[str, Numbers] = {}

    @property
    def row_count(self) -> int:
        """The number of rows, each of which stands for events of a quarter."""
        return len(self._at)

    def _column(self, name: str) -> Numbers:
        """A column of the rows; few queries need all."""
        if name not in self._columns:
            values = self._joined.columns(OTHER_EVENTS.name, name)[name]
            self._columns[name] = values[self._at]
        return self._columns[name]

    def buckets(self, buckets: Numbers) -> Numbers:
        """The bucket of each row, from that of each quarter that is asked for."""
        own: Numbers = buckets[self._column("quarter").astype(np.int64) - self._joined.first]
        return own

    def texts(self, column: str) -> EncodedTexts:
        """A column of texts."""
        numbers, texts = self._joined.text_numbers(OTHER_EVENTS.name, label(column))
        return numbers[self._at], texts

    def events(self, groups: Numbers, count: int) -> Numbers:
        """The number of events of each group."""
        return sums(groups, self._column("row_count"), count)

    def distinct_texts(self, column: str, groups: Numbers, count: int) -> Numbers:
        """The number of texts of each group."""
        numbers, texts = self.texts(column)
        return distinct_values(groups, numbers, count, len(texts))

    def with_properties(self, groups: Numbers, count: int) -> Numbers:
        """The number of events with properties of each group."""
        return sums(groups, self._column("with_properties"), count)

    def visitors(self, groups: Numbers, count: int) -> Numbers:
        """The number of visitors of each group."""
        return self._joined.distinct(groups, self._column("visitor"), count)

    def sessions(self, groups: Numbers, count: int) -> Numbers:
        """The number of sessions of each group."""
        return self._joined.distinct(groups, self._column(SESSION_COLUMN), count, SESSION_COLUMN)

    def first_ms(self, groups: Numbers, count: int) -> Numbers:
        """Unix milliseconds of the first event of each group."""
        return least(groups, self._start_ms, count)

    def last_ms(self, groups: Numbers, count: int) -> Numbers:
        """Unix milliseconds of the last event of each group."""
        return greatest(groups, self._start_ms + self._column("span_ms"), count)

    @property
    def _start_ms(self) -> Numbers:
        start: Numbers = self._column("quarter").astype(np.int64) * QUARTER_MS
        start += self._column("start_ms")
        return start


class CustomEventTotals(RangePlan, frozen=True):
    """One row: events, names, visitors, sessions, pages."""

    tables: ClassVar[Sequence[str]] = TABLES

    nothing: ClassVar[Row] = (0, 0, 0, 0, 0)
    """The row of no events."""

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
        events = OtherEvents(joined, are_outbound=False)
        return _counts(events, np.zeros(events.row_count, np.intp), 1)


class CustomEventsByBucket(BucketPlan, frozen=True):
    """The same for each bucket that has events, behind its number."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        events = OtherEvents(joined, are_outbound=False)
        counts = _counts(events, events.buckets(quarters.buckets), len(quarters.numbers))
        both = zip(quarters.numbers, counts, strict=True)
        return [(number, *row) for number, row in both if row[0]]


class CustomEventsByQuarter(RangePlan, frozen=True):
    """A row for each quarter-hour that has events: its number since 1970, and theirs."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        events = OtherEvents(joined, are_outbound=False)
        count = quarters.end - quarters.first
        counts = events.events(events.buckets(np.arange(count)), count)
        having = np.flatnonzero(counts)
        return list(zip((having + quarters.first).tolist(), counts[having].tolist(), strict=True))


class CustomEventsByPath(RangePlan, frozen=True):
    """A row for each path: events, names, visitors; most events first."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
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


class CustomEventsByBucketAndName(BucketPlan, frozen=True):
    """A row for each bucket and name that has events: their number."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
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


class CustomEventNames(RangePlan, frozen=True):
    """A row for each name, most visitors first, then most events."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
        events = OtherEvents(joined, are_outbound=False)
        texts, groups = number_groups([events.texts("name")])
        visitors = events.visitors(groups, len(texts)).tolist()
        made = zip(
            (name for (name,) in texts),
            events.events(groups, len(texts)).tolist(),
            visitors,
            events.sessions(groups, len(texts)).tolist(),
            events.last_ms(groups, len(texts)).tolist(),
            events.first_ms(groups, len(texts)).tolist(),
            events.with_properties(groups, len(texts)).tolist(),
            visitors,
            [sum(visitors)] * len(texts),
            strict=True,
        )
        return sorted(made, key=lambda row: (-row[2], -row[1], row[0]))


class OutboundClicks(RangePlan, frozen=True):
    """A row for each link, or for each domain, most clicks first."""

    by_domain: bool
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
        clicks = OtherEvents(joined, are_outbound=True)
        return _domains(clicks) if self.by_domain else _links(clicks)


def _domains(clicks: OtherEvents) -> Sequence[Row]:
    """Domain, clicks, visitors, links, clicks, clicks of all domains."""
    texts, groups = number_groups([clicks.texts("outbound_domain")])
    counts = clicks.events(groups, len(texts)).tolist()
    made = zip(
        (domain for (domain,) in texts),
        counts,
        clicks.visitors(groups, len(texts)).tolist(),
        clicks.distinct_texts("href", groups, len(texts)).tolist(),
        counts,
        [sum(counts)] * len(texts),
        strict=True,
    )
    return sorted(made, key=lambda row: (-row[1], row[0]))


def _links(clicks: OtherEvents) -> Sequence[Row]:
    """Target, text, clicks, visitors, sessions, clicks, clicks of all links, time of the last."""
    texts, groups = number_groups([clicks.texts("href"), clicks.texts("link_text")])
    counts = clicks.events(groups, len(texts)).tolist()
    made = zip(
        (target for target, _ in texts),
        (link_text for _, link_text in texts),
        counts,
        clicks.visitors(groups, len(texts)).tolist(),
        clicks.sessions(groups, len(texts)).tolist(),
        counts,
        [sum(counts)] * len(texts),
        clicks.last_ms(groups, len(texts)).tolist(),
        strict=True,
    )
    return sorted(made, key=lambda row: (-row[2], row[0], row[1]))
