"""Percentiles of measurements, web vitals and load times, by group."""

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows, Key, descending
from query.prepared.groups_index import KEY_BITS, number_combinations, sums
from query.prepared.measured_tables import Measured, plus_one
from query.prepared.quarter_hours import QuarterHours, UnfilteredPlan, by_bucket, whole_range
from query.prepared.rollup import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.rollup_tables import label
from query.prepared.rollup_view import RollupView
from query.prepared.text_filters import keeps_all, rows_that_meet
from query.request.buckets import Granularity
from query.request.filter_struct import Filter
from query.request.time_range import TimeRange

MAX_INT = 2**63 - 1


class RankedValues(Struct, frozen=True, eq=False):
    """The values of groups, those of each in ascending order."""

    values: Numbers
    """Group after group."""
    borders: Numbers
    """Where those of each group begin, and where those of the last end."""

    @property
    def counts(self) -> Numbers:
        """The number of values of each group."""
        return np.diff(self.borders)

    def neighbors(self, percent: int) -> tuple[Numbers, Numbers]:
        """The two values that a percentile of each group lies between; 0 of a group without any."""
        counts = self.counts
        places = (counts - 1) * percent
        return self._at(places // 100), self._at(-(-places // 100))

    def _at(self, places: Numbers) -> Numbers:
        """The value at a place among those of each group."""
        found = np.zeros(len(places), np.int64)
        having = np.flatnonzero(self.counts)
        found[having] = self.values[self.borders[having] + places[having]]
        return found


def sum_values(groups: Numbers, values: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The sum of the values of each of `count` groups, and their number.

    Sums are numbers of Python where 64 bits do not hold them.
    """
    counts = np.bincount(groups, minlength=count)
    greatest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if greatest * len(values) <= MAX_INT:
        return sums(groups, values, count), counts
    added = np.zeros(count, object)
    np.add.at(added, groups, values.astype(object))
    return added, counts


def rank_values(groups: Numbers, values: Numbers, count: int) -> RankedValues:
    """The values of `count` groups, from the group and the value of each row."""
    borders = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=borders[1:])
    least = int(values.min(initial=0))
    width = (int(values.max(initial=0)) - least).bit_length()
    if count.bit_length() + width > KEY_BITS:
        order = np.lexsort((values, groups))
        return RankedValues(values[order].astype(np.int64), borders)
    keys = groups.astype(np.int64) << width
    keys |= values.astype(np.int64) - least
    keys.sort()
    keys &= (1 << width) - 1
    keys += least
    return RankedValues(keys, borders)


BUCKET, METRIC = "bucket", "metric_name"
"""Labels that are no column with a name of its own."""
NO_PLACE = -1


class Labels(Struct, frozen=True, eq=False):
    """A label of rows or groups: the place of each, or NO_PLACE, among all labels in order."""

    places: Numbers
    values: Sequence[int | str]

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return self.places.nbytes + 60 * len(self.values)

    def at(self, positions: Numbers) -> list[int | str]:
        """The labels of some groups."""
        return [self.values[i] for i in self.places[positions].tolist()]


class Measurements:
    """The measurements of a range that have all labels; groups are numbered in their order."""

    def __init__(
        self,
        joined: RollupView,
        measured: Measured,
        by: Sequence[str],
        quarters: QuarterHours,
        metrics: Collection[str],
        filters: Sequence[Filter] = (),
    ) -> None:
        """Those of some metrics only, where `metrics` names any, that meet filters on labels."""
        self._joined = joined
        self._measured = measured
        columns = [self._labels(name, quarters) for name in by]
        kept = np.ones(len(self._column(QUARTER_COLUMN)), np.bool_)
        for each in columns:
            kept &= each.places != NO_PLACE
        if metrics:
            kept &= self._is_of(metrics)
        if filters:
            kept &= rows_that_meet(joined, measured.table, filters)
        self._kept = np.flatnonzero(kept)
        self._groups, self.labels = self._grouped(columns)
        self.count = len(self.labels[0].places) if by else 1
        """The number of groups: one without labels, even if it has no rows."""

    def _column(self, name: str) -> Numbers:
        return self._joined.columns(self._measured.table, name)[name]

    def _labels(self, name: str, quarters: QuarterHours) -> Labels:
        if name == BUCKET:
            of_rows = self._column(QUARTER_COLUMN).astype(np.int64) - self._joined.first
            return Labels(quarters.buckets[of_rows], quarters.numbers)
        numbers, texts = self._joined.text_numbers(self._measured.table, label(name))
        named = sorted(text for text in texts if text is not None)
        place = {text: i for i, text in enumerate(named)}
        places = [NO_PLACE if text is None else place[text] for text in texts]
        return Labels(np.array(places, np.int64)[numbers], named)

    def _is_of(self, metrics: Collection[str]) -> Numbers:
        numbers, texts = self._joined.text_numbers(self._measured.table, label(METRIC))
        return np.array([text in metrics for text in texts], np.bool_)[numbers]

    def _grouped(self, columns: Sequence[Labels]) -> tuple[Numbers, Sequence[Labels]]:
        """The group of each row that is kept, and the labels of all groups."""
        of_columns = [(each.places[self._kept], len(each.values)) for each in columns]
        found, groups = number_combinations(of_columns, len(self._kept))
        labels = [Labels(own, each.values) for own, each in zip(found, columns, strict=True)]
        return groups, labels

    @property
    def row_counts(self) -> Numbers:
        """The measurements of each group."""
        return np.bincount(self._groups, minlength=self.count)

    @property
    def visitors(self) -> Numbers:
        """The distinct visitors of each group."""
        visitors = self._column(VISITOR_COLUMN)[self._kept]
        return self._joined.distinct(self._groups, visitors, self.count)

    def ranked(self, metric: str) -> RankedValues:
        """The values of a metric of each group; of all of its rows without a metric."""
        return rank_values(*self._values(metric), self.count)

    def added(self, metric: str) -> tuple[Numbers, Numbers]:
        """The sum of the same values of each group, and their number."""
        return sum_values(*self._values(metric), self.count)

    def _values(self, metric: str) -> tuple[Numbers, Numbers]:
        """The group and the value of each row that is of the metric."""
        has_column = metric in self._measured.metrics
        values = self._column(plus_one(metric) if has_column else "measured")[self._kept]
        if has_column:
            having = np.flatnonzero(values)
            return self._groups[having], values[having].astype(np.int64) - 1
        if not metric:
            return self._groups, values
        having = np.flatnonzero(self._is_of((metric.upper(),))[self._kept])
        return self._groups[having], values[having]


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
        *columns, last = (each[at].tolist() for each in self.columns)
        if self.scale != 1:
            columns = [[Decimal(value) / self.scale for value in column] for column in columns]
        return [*columns, last]

    @property
    def keys(self) -> Sequence[Key]:
        """The keys of the groups with the greatest value first, those without one last."""
        absent = [] if self.absent is None else [self.absent.__getitem__]
        return [*absent, descending(self.ascending.__getitem__)]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(each.nbytes for each in (*self.columns, self.ascending))


class MeasuredGroups(UnfilteredPlan, frozen=True):
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

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
        if BUCKET in self.by:
            return by_bucket(time_range, granularity)
        return whole_range(time_range)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
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
            figure, metric = _figure_and_metric(name)
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


def _figure_and_metric(field: str) -> tuple[str, str]:
    """The figure that a field is, and of which metric; "" for all values."""
    figure, _, metric = field.partition("_")
    return figure, "" if metric == "value" else metric
