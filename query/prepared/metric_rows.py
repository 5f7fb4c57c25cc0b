"""Plans of metrics queries: totals, and visitors and events by dimensions."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import ClassVar

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.not_prepared import TOO_MANY_GROUPS, NotPrepared
from query.prepared.quarter_hours import QuarterHours, RangePlan, by_bucket, whole_range
from query.prepared.rollup_view import RollupView
from query.prepared.row_groups import (
    DISTINCT_VISITORS,
    CountedField,
    FoundGroups,
    Group,
    RowGroups,
    array_rows,
)
from query.prepared.totals_index import NO_TOTALS, TABLES, BucketTotals, bucket_totals
from query.request.buckets import Granularity
from query.request.time_range import TimeRange

MetricValue = Callable[[BucketTotals], object]
EVENTS, VISITORS, VIEWS = "events", "visitors", "page_views"
COUNTED: Mapping[str, CountedField] = {EVENTS: CountedField(), VISITORS: DISTINCT_VISITORS}
"""What rows of events count, beside page views."""
MAX_COMBINATIONS = 2**62


class MetricTotals(RangePlan, frozen=True):
    """Metrics of the time range, or of each of its buckets, from totals."""

    values: tuple[MetricValue, ...]
    bucket: Granularity | None = None
    tables: ClassVar[Sequence[str]] = TABLES

    @property
    def nothing(self) -> Row | None:
        """The row of no rows, where there is one."""
        return None if self.bucket else self._row(NO_TOTALS)

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:  # noqa: ARG002
        return by_bucket(time_range, self.bucket) if self.bucket else whole_range(time_range)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        totals = bucket_totals(joined, quarters.buckets, len(quarters.numbers))
        if self.bucket is None:
            return [self._row(*totals)]
        return [
            (number, *self._row(each))
            for number, each in zip(quarters.numbers, totals, strict=True)
            if each.row_count or each.sessions
        ]

    def _row(self, totals: BucketTotals) -> Row:
        return tuple(value(totals) for value in self.values)


class MetricGroups(Struct, frozen=True):
    """Events, visitors and page views by dimensions, in the order of the metrics."""

    metrics: tuple[str, ...]
    events: RowGroups
    """Counts events and visitors, or one of them; each group with a row has a row."""
    views: RowGroups
    """Counts page views, with the same groups and filters."""
    filter_fields: ClassVar[Mapping[str, int]] = {}
    text_count: ClassVar[int] = 0

    @property
    def groups(self) -> Sequence[Group]:
        """The dimensions."""
        return self.events.groups

    @property
    def tables(self) -> Sequence[str]:
        return [*dict.fromkeys((*self.events.tables, *self.views.tables))]

    @property
    def visit_tables(self) -> Sequence[str]:
        return self.events.visit_tables

    @property
    def nothing(self) -> Row | None:
        """The row of no rows, where there is one."""
        return None if self.events.groups else (0,) * len(self.metrics)

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
        return self.events.quarters(time_range, granularity)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        groups = self.events.found(joined, quarters)
        fields = self.events.counted
        counts = {
            name: groups.counts[fields.index(field)]
            for name, field in COUNTED.items()
            if field in fields
        }
        if VIEWS in self.metrics:
            counts[VIEWS] = _first_counts(groups, self.views.found(joined, quarters))
        of_metrics = [counts[name] for name in self.metrics]
        return array_rows(groups.values, groups.columns, of_metrics)


def _first_counts(groups: FoundGroups, others: FoundGroups) -> Numbers:
    """The first count of other groups, which are some of the groups, for each group."""
    sizes = [len(values) for values in groups.values]
    if prod(sizes) > MAX_COMBINATIONS:
        raise NotPrepared(TOO_MANY_GROUPS)
    found = np.zeros(len(groups.counts[0]), np.int64)
    columns = []
    for values, other_values, column in zip(
        groups.values, others.values, others.columns, strict=True
    ):
        number = {value: i for i, value in enumerate(values)}
        # values without any row of these groups are of no other group either
        mapping = np.array([number.get(value, 0) for value in other_values], np.int64)
        columns.append(mapping[column])
    keys, wanted = (_keys(each, sizes) for each in (groups.columns, columns))
    if not sizes:
        return others.counts[0]
    found[np.searchsorted(keys, wanted)] = others.counts[0]
    return found


def _keys(columns: Sequence[Numbers], sizes: Sequence[int]) -> Numbers:
    """A number for each group, in the order of the groups."""
    keys = np.zeros(len(columns[0]) if columns else 1, np.int64)
    for column, size in zip(columns, sizes, strict=True):
        keys = keys * size + column
    return keys
