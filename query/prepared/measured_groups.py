"""Means, percentiles and counts of measurements in groups, from parts.

The fields of a row say what its columns are, as they do in SQL: labels come first, `avg_lcp` is the
mean of the metric LCP, `p75_lcp` its percentile, `visitors` are distinct; others count rows.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows, Key, descending
from query.prepared.form_ranges import WithoutFilters
from query.prepared.joined_parts import JoinedParts
from query.prepared.measured_tables import Measured
from query.prepared.measurements import BUCKET, Measurements
from query.prepared.quarters import Quarters, by_bucket, whole_range
from query.prepared.ranked_values import RankedValues
from query.prepared.text_filters import keeps_all
from query.request.buckets import Granularity
from query.request.filter_struct import Filter
from query.request.time_range import TimeRange

VISITORS, AVERAGE = "visitors", "avg"
NO_FILTERS = b"[]"
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
    filters: bytes = NO_FILTERS
    """Filters on labels of measurements, as JSON: only those that meet them count."""

    def of_filters(self, filters: Sequence[Filter]) -> "MeasuredGroups | None":
        """The same of measurements that meet filters; None when these name other fields."""
        positions = {name: i for i, name in enumerate(self.measured.labels)}
        if keeps_all(filters, positions) is None:
            return None
        return structs.replace(self, filters=msgspec.json.encode(filters))

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
        filters = msgspec.json.decode(self.filters, type=list[Filter])
        found = Measurements(joined, self.measured, self.by, quarters, self.metrics, filters)
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
        figures: dict[str, Figure] = {}
        ranked: dict[str, RankedValues] = {}
        for name in self.fields[len(self.by) :]:
            figure, metric = _parts(name)
            if figure == AVERAGE:
                figures[name] = self._mean(*found.added(metric))
            elif IS_PERCENTILE.fullmatch(figure):
                if metric not in ranked:
                    ranked[metric] = found.ranked(metric)
                figures[name] = self._percentile(int(figure.removeprefix("p")), ranked[metric])
            else:
                counts = found.visitors if name == VISITORS else found.row_counts
                figures[name] = Figure((counts,), 1, counts)
        return figures

    def _mean(self, sums: Numbers, counts: Numbers) -> Figure:
        scale = self.measured.scale
        # as SQL divides: decimals by whole numbers are floating point numbers
        means = sums.astype(np.float64) / scale / np.maximum(1, counts)
        return Figure((sums, counts), scale, means, counts == 0)

    def _percentile(self, percent: int, ranked: RankedValues) -> Figure:
        low, high = ranked.neighbors(percent)
        counts = ranked.counts
        between = low * 100 + (high - low) * ((counts - 1) * percent % 100)
        return Figure((low, high, counts), self.measured.scale, between, counts == 0)


def _parts(field: str) -> tuple[str, str]:
    """The figure that a field is, and of which metric; "" for all values."""
    figure, _, metric = field.partition("_")
    return figure, "" if metric == "value" else metric
