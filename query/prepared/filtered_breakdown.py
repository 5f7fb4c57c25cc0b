"""Breakdown of the page views that meet filters on paths, places, devices and facts of visits."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np
from msgspec import Struct, structs

from query.engine.engine import Row
from query.prepared.breakdown import NamedGroups, shares
from query.prepared.quarter_hours import QuarterHours
from query.prepared.rollup_tables import FACTS, PAGES
from query.prepared.rollup_view import RollupView
from query.prepared.row_columns import view_rows
from query.prepared.row_groups import CountedField, RowGroups
from query.prepared.session_filters import FACT_BY_FIELD
from query.request.buckets import Granularity
from query.request.filter_struct import Filter, fields_named, names_behavior, with_conditions
from query.request.time_range import TimeRange
from query.scope.visits import VISIT_PREFIX

PATH = "path"
COUNTED = (CountedField(), CountedField("anonymous_id", is_distinct=True))
"""Page views and visitors."""


class FilteredBreakdown(Struct, frozen=True):
    """Page views and visitors by columns of the row, with the share of all groups' visitors."""

    groups: RowGroups
    row: Callable[[Row], Row] | None = None
    """As that of `Breakdown`."""
    left_out: str | None = None
    """A first text whose group is not in the result."""
    filter_fields: ClassVar[Mapping[str, int]] = {}

    @property
    def tables(self) -> Sequence[str]:
        return self.groups.tables

    @property
    def visit_tables(self) -> Sequence[str]:
        return self.groups.visit_tables

    @property
    def text_count(self) -> int:
        return len(self.groups.groups)

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
        return self.groups.quarters(time_range, granularity)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:
        found = self.groups.found(joined, quarters)
        if any("" in values and None in values for values in found.values[1:]):
            return None  # they are one group, with the visitors of both
        kept = [value not in (None, self.left_out) for value in found.values[0]]
        at = np.flatnonzero(np.array(kept)[found.columns[0]])
        texts = [
            [values[i] or "" for i in numbers[at].tolist()]
            for values, numbers in zip(found.values, found.columns, strict=True)
        ]
        views, visitors = (each[at] for each in found.counts)
        rows = shares(NamedGroups(list(zip(*texts, strict=True)), views, visitors))
        return list(map(self.row, rows)) if self.row else rows


def filtered_breakdown(
    columns: tuple[str, ...],
    filters: Sequence[Filter],
    row: Callable[[Row], Row] | None = None,
    left_out: str | None = None,
) -> FilteredBreakdown | None:
    """The form of a breakdown with filters; None when rollups do not have what they name.

    `row` gives the columns that the SQL selects, from a row of `shares`.
    """
    if any(map(names_behavior, filters)):
        return None
    own = [with_conditions(each, _with_fact) for each in filters]
    named = {*columns}.union(*map(fields_named, own))
    table = PAGES if PATH in named else FACTS
    source = view_rows(table, first_name=True, second_name=True)
    if not all(map(source.has_field, named)):
        return None
    groups = RowGroups(source, columns, COUNTED, msgspec.json.encode(own))
    return FilteredBreakdown(groups, row, left_out)


def _with_fact(condition: Filter) -> Filter:
    """A condition that names a fact of the visit as custom queries do."""
    fact = FACT_BY_FIELD.get(condition.field or "")
    return condition if fact is None else structs.replace(condition, field=VISIT_PREFIX + fact)
