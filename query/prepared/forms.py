"""Rollup plans: how a query type gets the rows of its SQL from rollups instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from query.engine.engine import Row
from query.prepared import attribute_rank, session_filters
from query.prepared.breakdown import groups_by, shares, table_of
from query.prepared.custom_events import CustomEventTotals
from query.prepared.filtered_breakdown import filtered_breakdown
from query.prepared.goal_counts import GoalCounts
from query.prepared.measured_groups import MeasuredGroups
from query.prepared.metric_rows import MetricGroups, MetricTotals
from query.prepared.quarter_hours import (
    BucketPlan,
    NewVisitorPlan,
    QuarterHours,
    RangePlan,
    whole_range,
)
from query.prepared.rollup_tables import BY_COLUMN, FACTS, SESSIONLESS, SESSIONS, VISITS, label
from query.prepared.rollup_view import RollupView
from query.prepared.row_groups import RowGroups
from query.prepared.session_groups import SessionsByBucket, SessionsByDuration
from query.prepared.text_filters import Keeps, keeps_all, rows_that_meet
from query.prepared.totals_index import NO_TOTALS, TABLES, TOTALS_INDEX, BucketTotals, bucket_totals
from query.prepared.visit_breakdown import VisitBreakdown
from query.request.buckets import Granularity
from query.request.filter_struct import Filter
from query.request.time_range import TimeRange
from query.scope.visits import VISIT_PREFIX


class RollupPlan(Protocol):
    """All rows of a query type, in its own order, from rollups."""

    @property
    def tables(self) -> Sequence[str]:
        """The tables of rollups that it reads."""

    @property
    def filter_fields(self) -> Mapping[str, int]:
        """The fields of filters that choose among its rows, with the position of the text.

        Rows are those of `shares` where there are any.
        """

    @property
    def text_count(self) -> int:
        """The number of texts that its rows begin with, where there are such fields."""

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
        """The quarters that it reads; None when rollups cannot answer the time range."""

    @property
    def visit_tables(self) -> Sequence[str]:
        """The tables of rollups with facts of visits, around the time range."""

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:
        """The rows that the SQL of the type would give; None when rollups do not determine them."""


class Totals(RangePlan, frozen=True):
    """One row: the totals of the time range."""

    row: Callable[[BucketTotals], Row]
    """The columns that the SQL selects."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        return [self.row(each) for each in bucket_totals(joined, quarters.buckets, 1)]


class TotalsByBucket(BucketPlan, frozen=True):
    """A row for each bucket that has rows, or sessions with rows in others: number and totals."""

    row: Callable[[BucketTotals], Row]
    """The columns that the SQL selects after the bucket."""
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:
        made = bucket_totals(joined, quarters.buckets, len(quarters.numbers))
        both = zip(quarters.numbers, made, strict=True)
        having = (pair for pair in both if pair[1].row_count or pair[1].sessions)
        return [(number, *self.row(each)) for number, each in having]


class Breakdown(Struct, frozen=True):
    """Page views and visitors by columns of the row, with the share of all groups' visitors."""

    columns: tuple[str, ...]
    row: Callable[[Row], Row] | None = None
    """The columns that the SQL selects, from a row of `shares`; None when they are the same."""
    visit_tables: Sequence[str] = ()
    together: bool = False
    """Whether groups are of the texts with spaces between, and not of each column's."""

    @property
    def tables(self) -> Sequence[str]:
        return [table_of(self.columns)]

    @property
    def filter_fields(self) -> Mapping[str, int]:
        return {} if self.row else {column: i for i, column in enumerate(self.columns)}

    @property
    def text_count(self) -> int:
        return len(self.columns)

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row]:  # noqa: ARG002
        rows = shares(groups_by(joined, self.columns, together=self.together))
        return list(map(self.row, rows)) if self.row else rows


def by_row(*columns: str) -> Breakdown | None:
    """The form of a breakdown; None when rollups do not have these columns."""
    return Breakdown(columns) if {label(each) for each in columns} <= BY_COLUMN.keys() else None


class KeepsRows(Protocol):
    """Gives the rows that meet filters; None when rollups do not determine them."""

    def __call__(self, joined: RollupView, filters: Sequence[Filter], /) -> RollupView | None: ...


class FilteredPlan(Struct, frozen=True):
    """The rows of another form, of the rows of rollups that meet filters."""

    kept: ClassVar[KeepsRows]
    form: RollupPlan
    filters: bytes
    """As JSON, so that forms can be compared."""

    @property
    def tables(self) -> Sequence[str]:
        return self.form.tables

    @property
    def visit_tables(self) -> Sequence[str]:
        return self.form.visit_tables

    @property
    def filter_fields(self) -> Mapping[str, int]:
        return self.form.filter_fields

    @property
    def text_count(self) -> int:
        return self.form.text_count

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> QuarterHours | None:
        return self.form.quarters(time_range, granularity)

    def rows(self, joined: RollupView, quarters: QuarterHours) -> Sequence[Row] | None:
        filters = msgspec.json.decode(self.filters, type=list[Filter])
        own = self.kept(joined, filters)
        return None if own is None else self.form.rows(own, quarters)


class FilteredByVisit(FilteredPlan, frozen=True):
    """Filters on facts of the visit."""

    kept: ClassVar[KeepsRows] = staticmethod(session_filters.rows_of_visits)

    @property
    def tables(self) -> Sequence[str]:
        return [*dict.fromkeys((*self.form.tables, SESSIONS.name, SESSIONLESS.name))]

    @property
    def visit_tables(self) -> Sequence[str]:
        return [VISITS.name]


def _views_of_places(joined: RollupView, filters: Sequence[Filter]) -> RollupView:
    positions = np.flatnonzero(rows_that_meet(joined, FACTS.name, filters))
    return joined.of_positions(FACTS.name, positions)


class FilteredByColumn(FilteredPlan, frozen=True):
    """Filters on places and devices of page views, for forms that read no other table."""

    kept: ClassVar[KeepsRows] = staticmethod(_views_of_places)


class FilteredByAttribute(FilteredPlan, frozen=True):
    """Filters on places and devices of rows."""

    kept: ClassVar[KeepsRows] = staticmethod(session_filters.rows_of_attributes)

    @property
    def tables(self) -> Sequence[str]:
        return [*dict.fromkeys((*self.form.tables, SESSIONS.name, *attribute_rank.TABLES))]


def of_filters(
    form: RollupPlan, filters: Sequence[Filter]
) -> tuple[RollupPlan, Keeps | None] | None:
    """The form of what filters keep, and what of its rows is kept, if not all; None without one."""
    if not filters:
        return form, None
    if isinstance(form, MeasuredGroups):
        measured = form.of_filters(filters)
        return None if measured is None else (measured, None)
    if (keeps := keeps_all(filters, form.filter_fields)) is not None:
        return form, keeps
    if (filtered := _of_breakdown(form, filters)) is not None:
        return filtered, None
    of_visits, others = session_filters.divided(filters)
    chosen = _of_others(form, others)
    if chosen is None or not of_visits:
        return chosen
    if not _reads_visits_alone(form):
        return None
    form, keeps = chosen
    return FilteredByVisit(form, msgspec.json.encode(of_visits)), keeps


def _of_breakdown(form: RollupPlan, filters: Sequence[Filter]) -> RollupPlan | None:
    """The form of a list whose page views meet filters; None where rows do not tell the list."""
    if isinstance(form, Breakdown) and not form.together:
        return filtered_breakdown(form.columns, filters, form.row)
    if isinstance(form, VisitBreakdown) and form.otherwise is None and len(form.columns) == 1:
        columns = tuple(VISIT_PREFIX + column for column in form.columns)
        return filtered_breakdown(columns, filters, left_out=form.left_out)
    return None


def _of_others(
    form: RollupPlan, filters: Sequence[Filter]
) -> tuple[RollupPlan, Keeps | None] | None:
    """The form of what filters on other fields than facts of the visit keep."""
    if not filters:
        return form, None
    if (keeps := keeps_all(filters, form.filter_fields)) is not None:
        return form, keeps
    of_places = [each for each in filters if session_filters.is_of_attributes(each)]
    if [*form.tables] == [FACTS.name]:
        whole = len(of_places) == len(filters)
        return (FilteredByColumn(form, msgspec.json.encode(filters)), None) if whole else None
    others = [each for each in filters if not session_filters.is_of_attributes(each)]
    keeps = keeps_all(others, form.filter_fields)
    if not of_places or keeps is None or not _reads_visits_alone(form):
        return None
    return FilteredByAttribute(form, msgspec.json.encode(of_places)), keeps if others else None


def _reads_visits_alone(form: RollupPlan) -> bool:
    """Whether the rows of chosen visits are enough; who is new follows from all rows."""
    return {*form.tables} <= session_filters.SESSION_TABLES and not isinstance(form, NewVisitorPlan)


OF_TOTALS_INDEX = (Totals, TotalsByBucket, MetricTotals, SessionsByDuration, SessionsByBucket)
"""Forms that read no more than the index of totals."""


def index_between_quarters(form: RollupPlan) -> str | None:
    """The index of totals where a plan reads it only within its time range, else None.

    It is used for small ranges too, even when it covers more data files.
    """
    return TOTALS_INDEX if isinstance(form, OF_TOTALS_INDEX) else None


WITH_EMPTY_ROW = (
    CustomEventTotals,
    GoalCounts,
    MeasuredGroups,
    MetricGroups,
    MetricTotals,
    RowGroups,
)
"""Forms that may have a row where there are no rows."""


def empty_result(form: RollupPlan) -> Sequence[Row]:
    """The result for an empty range."""
    if isinstance(form, FilteredPlan):
        return empty_result(form.form)
    if isinstance(form, Totals):
        return [form.row(NO_TOTALS)]
    nothing = form.nothing if isinstance(form, WITH_EMPTY_ROW) else None
    return () if nothing is None else [nothing]
