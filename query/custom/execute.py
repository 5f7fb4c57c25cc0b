"""Executes a custom query on one table version."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from query.custom.aggregates import ResultType
from query.custom.compiler import compile_count, compile_page
from query.custom.request import MAX_DAYS, CustomRequest
from query.custom.row_access import RowAccess, row_access
from query.custom.validation import ValidatedQuery, validate
from query.dependencies import QueryDependencies
from query.engine.engine import Row, Sql
from query.engine.snapshots import AsOf, PinnedVersion, PinnedVersions
from query.request.subject import QuerySubject
from query.request.time_parameters import parse_time_range
from query.request.time_range import TimeRange, check_time_zone
from query.response.response_budget import ResponseBudget
from query.scope.scope import Scope
from query.sql.fragment import Fragment, all_of
from schemas.registry import Key
from schemas.runtime.clock import format_instant
from schemas.tables import ColumnType

DECIMALS = 6
"""Decimals of a mean, a quantile or a sum of fractions."""


class CustomQuery(Struct, frozen=True):
    """A validated custom query with subject, time range and page."""

    organization_id: str
    """The organization of the API key."""
    plan: ValidatedQuery
    row_access: RowAccess
    time_range: TimeRange
    limit: int
    offset: int
    as_of: AsOf
    include_bots: bool

    def scope(self, pinned: PinnedVersion) -> Scope:
        """The rows of that version that it may see."""
        table = self.plan.table
        filters = Fragment() if table.is_computed else self.plan.where
        return Scope(
            pinned=pinned,
            subject_column=self.row_access.column,
            subject=self.row_access.value,
            time_range=self.time_range,
            where=all_of(Fragment(table.where), filters),
            include_bots=self.include_bots,
        )

    async def sql(self, dependencies: QueryDependencies, pinned: PinnedVersion) -> Sql:
        """The SQL over that version."""
        scope = self.scope(pinned)
        return await compile_page(
            dependencies.custom_limiter.for_tenant(self.organization_id),
            self.plan,
            scope,
            self.limit,
            self.offset,
        )


class CustomResult(Struct, frozen=True):
    """The rows of one page, from one version."""

    rows: Sequence[Row]
    total: int
    pinned: PinnedVersion


def parse_custom_query(
    dependencies: QueryDependencies,
    body: CustomRequest,
    subject: QuerySubject,
    key: Key,
    zone: str | None,
) -> CustomQuery:
    """The query of a body; `zone` of the query string overrides the body's time zone."""
    plan = validate(body.query)
    access = row_access(plan.table, subject, key)
    name = check_time_zone("timezone", zone or body.timezone or subject.time_zone)
    time_range = parse_time_range(
        body.start_date, body.end_date, body.preset, name, dependencies.clock(), MAX_DAYS
    )
    if plan.granularity is not None:
        time_range.points(plan.granularity)  # Malformed for too many
    offset = (body.page - 1) * body.limit
    return CustomQuery(
        subject.organization_id,
        plan,
        access,
        time_range,
        body.limit,
        offset,
        body.as_of,
        body.include_bots,
    )


async def execute_custom_query(
    dependencies: QueryDependencies, query: CustomQuery, budget: ResponseBudget
) -> CustomResult:
    """The rows of one page, from one version."""
    table = query.plan.table.table

    async def run(pinned: PinnedVersions) -> CustomResult:
        return await _page(dependencies, query, pinned.of(table), budget)

    return await dependencies.snapshots.with_pinned([table], query.as_of, run)


async def _page(
    dependencies: QueryDependencies,
    query: CustomQuery,
    pinned: PinnedVersion,
    budget: ResponseBudget,
) -> CustomResult:
    engine = dependencies.custom_limiter.for_tenant(query.organization_id)
    rows = await engine.rows(await query.sql(dependencies, pinned), budget.seconds)
    total = rows[0][-1] if rows else 0
    if not rows and query.offset:
        count = await compile_count(engine, query.plan, query.scope(pinned))
        [(total,)] = await engine.rows(count, budget.seconds)
    return CustomResult([row[:-1] for row in rows], total, pinned)


def result_rows(query: CustomQuery, rows: Sequence[Row]) -> Sequence[Mapping[str, object]]:
    """Result rows as objects of JSON values."""
    plan = query.plan
    instants = [group.type is ColumnType.TIMESTAMP for group in plan.groups]
    for select in plan.selects:
        keeps_type = select.aggregate.result is ResultType.SAME
        instants.append(
            keeps_type and select.column is not None and select.column.type is ColumnType.TIMESTAMP
        )
    return [
        {
            name: _json(value, instant)
            for name, value, instant in zip(plan.outputs, row, instants, strict=True)
        }
        for row in _with_bucket_labels(query, rows)
    ]


def _with_bucket_labels(query: CustomQuery, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with the label of their time bucket."""
    granularity = query.plan.granularity
    if granularity is None:
        return rows
    labels = {point.bucket: point.label for point in query.time_range.points(granularity)}
    at = next(i for i, group in enumerate(query.plan.groups) if group.granularity)
    return [(*row[:at], labels[row[at]], *row[at + 1 :]) for row in rows]


def _json(value: object, instant: bool) -> object:
    if instant and isinstance(value, int):
        return format_instant(value)
    if isinstance(value, Decimal | float):
        return round(float(value), DECIMALS)
    return value
