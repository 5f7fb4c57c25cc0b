"""Measurements of parts: groups of them, their visitors, and their ranked values by metric."""

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers
from query.prepared.group_numbers import number_combinations
from query.prepared.joined_parts import JoinedParts
from query.prepared.measured_tables import Measured, plus_one
from query.prepared.part import QUARTER_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import label
from query.prepared.quarters import Quarters
from query.prepared.ranked_values import RankedValues, rank_values, sum_values
from query.prepared.text_filters import rows_that_meet
from query.request.filter_struct import Filter

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
        joined: JoinedParts,
        measured: Measured,
        by: Sequence[str],
        quarters: Quarters,
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

    def _labels(self, name: str, quarters: Quarters) -> Labels:
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
