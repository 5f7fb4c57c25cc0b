"""Means, percentiles and counts of measurements in groups, from parts.

The fields of a row say what its columns are, as they do in SQL: labels come first, `avg_lcp` is the
mean of the metric LCP, `p75_lcp` its percentile, `visitors` are distinct; others count rows.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows, Key, descending
from query.prepared.form_ranges import WithoutFilters
from query.prepared.joined_parts import JoinedParts
from query.prepared.measured_tables import Measured
from query.prepared.measurements import BUCKET, Measurements
from query.prepared.quarters import Quarters, by_bucket, whole_range
from query.prepared.ranked_values import RankedValues
from query.request.buckets import Granularity
from query.request.time_range import TimeRange

VISITORS, AVERAGE = "visitors", "avg"
IS_PERCENTILE = re.compile(r"p\d+")


class Figure(Struct, frozen=True, eq=False):
    """A field of all groups: its columns, and how rows are sorted by it."""

    columns: Sequence[Numbers]
    scale: int
    """By which all columns but the last, a count, are multiplied."""
    ascending: Numbers
    absent: Numbers | None = None
    """Which groups have no value."""

    def values(self, at: Numbers) -> list[list[object]]:
        """The columns of some groups."""
        *parts, last = (each[at].tolist() for each in self.columns)
        if self.scale != 1:
            parts = [[Decimal(value) / self.scale for value in part] for part in parts]
        return [*parts, last]

    @property
    def keys(self) -> Sequence[Key]:
        """The keys of the groups with the greatest value first, those without one last."""
        absent = [] if self.absent is None else [self.absent.__getitem__]
        return [*absent, descending(self.ascending.__getitem__)]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(each.nbytes for each in (*self.columns, self.ascending))


class MeasuredGroups(WithoutFilters, frozen=True):
    """A row for each group that has measurements; one of all of them when there are no labels."""

    measured: Measured
    by: tuple[str, ...]
    """The labels that a row begins with."""
    fields: tuple[str, ...]
    """Those of a row."""
    first: tuple[str, ...] = ()
    """The fields by which rows are sorted, the greatest first; labels follow."""
    metrics: tuple[str, ...] = ()
    """Only these count; all of them where none is named."""

    @property
    def tables(self) -> Sequence[str]:
        return (self.measured.table,)

    @property
    def nothing(self) -> Row | None:
        """The row of no measurements, where there is one: of means only."""
        return None if self.by else (0,) * (2 * len(self.fields))

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:
        if BUCKET in self.by:
            return by_bucket(time_range, granularity)
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:
        found = Measurements(joined, self.measured, self.by, quarters, self.metrics)
        labels = dict(zip(self.fields, found.labels, strict=False))
        figures = self._figures(found)

        def make(at: Numbers) -> Sequence[Row]:
            columns = [column for each in figures.values() for column in each.values(at)]
            return list(zip(*(each.at(at) for each in labels.values()), *columns, strict=True))

        places = {name: each.places for name, each in labels.items()}
        own_order = [key for name in self.first for key in figures[name].keys]
        own_order += [each.__getitem__ for each in places.values()]
        ascending = {name: each.ascending for name, each in figures.items()} | places
        absent = {n: f.absent.__getitem__ for n, f in figures.items() if f.absent is not None}
        return ArrayRows(
            found.count,
            own_order or [np.zeros(found.count).__getitem__],
            make,
            {name: (values.__getitem__,) for name, values in ascending.items()},
            sum(each.size for each in labels.values()) + sum(f.size for f in figures.values()),
            absent,
        )

    def _figures(self, found: Measurements) -> Mapping[str, Figure]:
        """The fields after the labels."""
        names = self.fields[len(self.by) :]
        metrics = {name: _metric(name) for name in names}
        ranked = {m: None if m is None else found.ranked(m) for m in {*metrics.values()}}
        return {name: self._figure(name, found, ranked[metrics[name]]) for name in names}

    def _figure(self, name: str, found: Measurements, ranked: RankedValues | None) -> Figure:
        if ranked is None:
            counts = found.visitors if name == VISITORS else found.row_counts
            return Figure((counts,), 1, counts)
        scale, counts = self.measured.scale, ranked.counts
        absent, of = counts == 0, name.partition("_")[0]
        if of == AVERAGE:
            sums = ranked.sums()
            # as SQL divides: decimals by whole numbers are floating point numbers
            means = sums.astype(np.float64) / scale / np.maximum(1, counts)
            return Figure((sums, counts), scale, means, absent)
        percent = int(of.removeprefix("p"))
        low, high = ranked.neighbors(percent)
        between = low * 100 + (high - low) * ((counts - 1) * percent % 100)
        return Figure((low, high, counts), scale, between, absent)


def _metric(field: str) -> str | None:
    """The metric that a field is of, "" for all values; None when it counts rows or visitors."""
    figure, _, metric = field.partition("_")
    if figure != AVERAGE and not IS_PERCENTILE.fullmatch(figure):
        return None
    return "" if metric == "value" else metric
