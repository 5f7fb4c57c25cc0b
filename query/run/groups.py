"""GroupedPlan: values by groups, as metrics and custom queries have them.

Its SQL has a column for each group, then one for each value. A query by one bucket of time alone
may have a row for every bucket; all others have rows with data only.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import Struct, structs

from query.engine.engine import Engine, Row, Sql
from query.formats.columns import ColumnKind, ResultColumn
from query.prepared.array_rows import ArrayRows
from query.prepared.forms import RollupPlan
from query.prepared.not_prepared import NotPrepared
from query.request.buckets import WIDTH_MS, Granularity, bucket_at, bucket_position
from query.request.query import MAX_ROWS, Query
from query.request.time_range import TimeRange, utc_offset_periods
from query.response.bodies import ResultWarning
from query.response.compiled_bodies import FurtherStatement
from query.response.worker_threads import run_in_worker
from query.run.comparison import (
    NUMBER_KINDS,
    ComparedRow,
    Comparison,
    changed_row,
    comparison_with,
    grown_row,
)
from query.run.plan import Page, Source, Versions
from query.scope.scope import Scope
from query.sql import result_forms
from query.sql.fragment import Fragment, all_of, merge_values
from query.sql.result_forms import Count
from query.sql.select import ResultForm
from schemas.tables import Table
from schemas.telemetry.spans import child_span

ALL_ROWS = 2**31 - 1
DEFAULT_LIMIT = 1_000

ResultRow = dict[str, Any]
Key = tuple[Any, ...]
Counterpart = Callable[[int], int | None]
"""The bucket of the other time range for one of the query's; None without one."""


class Output(Struct, frozen=True):
    """One column of the result."""

    name: str
    """Its key in the rows of the result."""
    column: str
    """Its name in SQL."""
    kind: ColumnKind
    """In files."""
    show: Callable[[Any], Any] | None = None
    """Gives the value of the result from that of SQL, which is not NULL."""
    labels: Granularity | None = None
    """Of buckets, which SQL numbers and the result labels."""
    is_time: bool = False
    """Whether it is a part of the time of the row."""
    of_nothing: float | None = None
    """Its value for a group without rows."""

    @property
    def bucket(self) -> Granularity | None:
        """Of a bucket of the time of the row."""
        return self.labels if self.is_time else None


class OutputOrder(Struct, frozen=True):
    """One term of the order: the position of an output, groups first."""

    position: int
    descending: bool


class Statements(Protocol):
    """The SQL of a query in one of the languages."""

    async def __call__(
        self,
        engine: Engine,
        query: Query,
        versions: Versions,
        form: ResultForm,
        values: Fragment,
        /,
    ) -> Sql:
        """The statement for one form of the result, with the bound values of that form."""


class GroupedPlan(Struct, frozen=True, kw_only=True):
    """Values by groups, parsed."""

    query: Query
    name: str
    """In metrics and spans."""
    file_name: str
    groups: tuple[Output, ...]
    values: tuple[Output, ...]
    having: Fragment
    """Conditions on the outputs, by their names in SQL."""
    order: tuple[OutputOrder, ...]
    """A total order."""
    tables: Sequence[Table]
    """The stored tables that it reads, its own first."""
    compile: Statements
    scope: Callable[[Query, Versions], Scope]
    """The rows of its first table that the query may see."""
    warnings: Callable[[Query, Source], Awaitable[Sequence[ResultWarning]]] | None = None
    has_every_bucket: bool = False
    """Whether the result has a row for every bucket of the time range."""
    rollup_plan: RollupPlan | None = None
    """How the rows are made from prepared results; None when they cannot be."""
    not_prepared: str = ""
    """Why they cannot be."""
    in_custom_pool: bool = False
    live_table: Table | None = None

    @property
    def outputs(self) -> Sequence[Output]:
        """The columns of the result, in the order of the SQL's columns."""
        return (*self.groups, *self.values)

    @property
    def columns(self) -> list[ResultColumn]:
        """The columns of the result for file formats."""
        return [ResultColumn(output.name, output.kind) for output in self.outputs]

    @property
    def bucket(self) -> Granularity | None:
        """The width of the first buckets of time that rows are grouped by."""
        return next((group.bucket for group in self.groups if group.bucket), None)

    @property
    def limit_offset(self) -> tuple[int, int]:
        """Rows of the page, and rows before it."""
        return self.query.page.limit_offset(MAX_ROWS if self.has_every_bucket else DEFAULT_LIMIT)

    def bind(self, source: Source) -> "BoundGroups":
        """The plan with its source."""
        return BoundGroups(self, source)

    def result_rows(
        self, rows: Sequence[Row], time_range: TimeRange | None = None
    ) -> list[ResultRow]:
        """The rows of the result; columns that SQL adds at the end are left out."""
        labeled = time_range or self.query.time_range
        shown = [
            (one.name, labeled.bucket_labels(one.labels) if one.labels else one.show)
            for one in self.outputs
        ]
        return [
            {
                name: value if show is None or value is None else show(value)
                for (name, show), value in zip(shown, row, strict=False)
            }
            for row in rows
        ]

    def empty_row(self, key: Sequence[Any]) -> Row:
        """The row of a group that has no data: counts and money are 0, all else is null."""
        return (*key, *(value.of_nothing for value in self.values))


class BoundGroups(Struct, frozen=True):
    """The plan with its source."""

    plan: GroupedPlan
    source: Source

    @property
    def rollup_plan(self) -> RollupPlan | None:
        return self.plan.rollup_plan

    @property
    def time_range(self) -> TimeRange:
        return self.plan.query.time_range

    @property
    def bucket(self) -> Granularity | None:
        return self.plan.bucket

    @property
    def scope(self) -> Scope:
        return self.plan.scope(self.plan.query, self.source.versions)

    @property
    def further(self) -> Sequence[FurtherStatement]:
        return () if self.plan.query.comparison_range is None else ("comparison",)

    async def prepared_rows(self) -> Sequence[Row]:
        plan = self.plan
        if plan.rollup_plan is None:
            raise NotPrepared(plan.not_prepared)
        return await self.source.prepared_rows(plan.rollup_plan, plan.query, self.scope)

    async def page_of(self, rows: Sequence[Row]) -> Page:
        limit, offset = self.plan.limit_offset
        if self.plan.has_every_bucket:
            series = self._every_bucket(rows)
            return Page(series[offset : offset + limit], len(series))
        if not isinstance(rows, ArrayRows):
            return Page(rows[offset : offset + limit], len(rows))
        orders = [(str(term.position), not term.descending) for term in self.plan.order]
        page = partial(rows.page, orders, offset, offset + limit)
        return Page(await run_in_worker(len(rows), page), len(rows))

    async def stored_page(self) -> Page:
        plan = self.plan
        rows = await self._fetch(*self._page_form())
        if plan.has_every_bucket:
            return await self.page_of(rows)
        total = rows[0][-1] if rows else 0
        if not rows and plan.query.page.number > 1:
            [(total,)] = await self._fetch(Count(where=plan.having.text), plan.having)
        return Page([row[:-1] for row in rows], total)

    async def page_sql(self) -> Sql:
        return await self._compiled(self.plan.query, *self._page_form())

    async def warnings(self) -> Sequence[ResultWarning]:
        look_up = self.plan.warnings
        return () if look_up is None else await look_up(self.plan.query, self.source)

    async def compare(self, page: Page) -> Comparison:
        """Rows are matched by their groups, buckets of time by their position in the time range.

        A bucket without a counterpart has no previous row and no change.
        """
        query = self.plan.query
        other = query.comparison_range or query.time_range
        counterparts = [_counterpart(group, query.time_range, other) for group in self.plan.groups]
        keys = [_key(row, counterparts) for row in page.rows]
        rows: Sequence[Row] = ()
        if wanted := [key for key in keys if key is not None]:
            form, values = self._rows_with(wanted)
            sql = await self._compiled(structs.replace(query, time_range=other), form, values)
            rows = await self.source.rows(sql)
        compared = partial(self._compared, page.rows, keys, rows, other)
        return comparison_with(other, await run_in_worker(len(page.rows) + len(rows), compared))

    async def _fetch(self, form: ResultForm, values: Fragment) -> list[Row]:
        with child_span("statement"):
            sql = await self._compiled(self.plan.query, form, values)
        return await self.source.rows(sql)

    async def _compiled(self, query: Query, form: ResultForm, values: Fragment) -> Sql:
        return await self.plan.compile(
            self.source.engine, query, self.source.versions, form, values
        )

    def _page_form(self) -> tuple[ResultForm, Fragment]:
        """The form of one page; of a result with every bucket that of all rows."""
        plan = self.plan
        outputs = plan.outputs
        order = tuple(
            f"{outputs[term.position].column} {'DESC' if term.descending else 'ASC'} NULLS LAST"
            for term in plan.order
        )
        limit, offset = (MAX_ROWS, 0) if plan.has_every_bucket else plan.limit_offset
        bound = merge_values(plan.having.values, {"limit": limit, "offset": offset})
        return result_forms.Page(order=order, where=plan.having.text), Fragment(values=bound)

    def _every_bucket(self, rows: Sequence[Row]) -> list[Row]:
        """A row for every bucket, in the requested order; a stable sort keeps that of time."""
        plan = self.plan
        by_bucket = {row[0]: row[: len(plan.outputs)] for row in rows}
        points = plan.query.time_range.points(plan.bucket or Granularity.DAILY)
        series = [by_bucket.get(p.bucket, plan.empty_row((p.bucket,))) for p in points]
        for term in reversed(plan.order):

            def key(row: Row, at: int = term.position, last: bool = term.descending) -> Any:
                return ((row[at] is None) is not last, 0 if row[at] is None else row[at])

            series.sort(key=key, reverse=term.descending)
        return series

    def _rows_with(self, keys: Sequence[Key]) -> tuple[ResultForm, Fragment]:
        """The form that gives the rows of these groups, however low they rank."""
        conditions = []
        for i, group in enumerate(self.plan.groups):
            values = list(dict.fromkeys(key[i] for key in keys if key[i] is not None))
            column, is_null = group.column, f"{group.column} IS NULL"
            text = f"(IN_LONG_LIST({column}, $key{i}) OR {is_null})" if values else is_null
            conditions.append(Fragment(text, {f"key{i}": values} if values else {}))
        where = all_of(*conditions)
        bound = merge_values(where.values, {"limit": ALL_ROWS, "offset": 0})
        first = self.plan.values[0].column
        return result_forms.Page(order=(first,), where=where.text), Fragment(values=bound)

    def _compared(
        self,
        rows: Sequence[Row],
        keys: Sequence[Key | None],
        previous_rows: Sequence[Row],
        other: TimeRange,
    ) -> list[ComparedRow]:
        plan, width = self.plan, len(self.plan.groups)
        by_key: dict[Key | None, Row] = {tuple(row[:width]): row for row in previous_rows}
        if plan.has_every_bucket:
            by_key = {key: by_key.get(key, plan.empty_row(key)) for key in keys if key is not None}
        previous = [by_key.get(key) for key in keys]
        shown = iter(plan.result_rows([row for row in previous if row is not None], other))
        return [
            self._compared_row(row, None if before is None else next(shown), key is not None)
            for row, before, key in zip(plan.result_rows(rows), previous, keys, strict=True)
        ]

    def _compared_row(
        self, row: ResultRow, previous: ResultRow | None, has_counterpart: bool
    ) -> ComparedRow:
        values = numbers_of(self.plan)
        numbers = {value.name: row[value.name] for value in values}
        if previous is not None:
            return changed_row(numbers, previous, previous)
        grows = {value.name for value in values if has_counterpart and value.of_nothing == 0}
        return grown_row(numbers, {n: v if n in grows else None for n, v in numbers.items()})


def numbers_of(plan: GroupedPlan) -> Sequence[Output]:
    """The values that have a change."""
    return [value for value in plan.values if value.kind in NUMBER_KINDS]


def _counterpart(group: Output, time_range: TimeRange, other: TimeRange) -> Counterpart | None:
    """Gives the bucket at the same position of the other time range; None for other values."""
    if group.bucket is None:
        return None
    if (width := WIDTH_MS.get(group.bucket)) is not None:
        periods, others = map(utc_offset_periods, (time_range, other))
        return lambda bucket: bucket_at(bucket_position(bucket, periods, width), others, width)
    points, other_points = (one.points(group.bucket) for one in (time_range, other))
    by_bucket: Mapping[int, int] = {
        point.bucket: counterpart.bucket
        for point, counterpart in zip(points, other_points, strict=False)
    }
    return by_bucket.get


def _key(row: Row, counterparts: Sequence[Counterpart | None]) -> Key | None:
    """The groups of a row in the other time range; None without a bucket there."""
    key = []
    for value, counterpart in zip(row, counterparts, strict=False):
        other = value if counterpart is None else counterpart(value)
        if counterpart is not None and other is None:
            return None
        key.append(other)
    return tuple(key)
