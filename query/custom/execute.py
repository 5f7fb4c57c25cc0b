"""Asking: a custom query, whose rows it may see, and the rows of one version."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from query.custom.aggregates import ResultType
from query.custom.compiler import compile_count, compile_page
from query.custom.request import MAX_DAYS, CustomRequest
from query.custom.tables import CustomTable
from query.custom.validation import ValidatedQuery, validate
from query.dependencies import QueryDependencies
from query.engine.engine import Row, Sql
from query.engine.snapshots import AsOf, PinnedVersion, PinnedVersions
from query.request.subject import QuerySubject, SubjectKind
from query.request.time_parameters import parse_time_range
from query.request.time_range import TimeRange, check_time_zone
from query.response.response_budget import ResponseBudget
from query.scope.scope import Scope
from schemas.errors import Forbidden, Malformed
from schemas.http.auth import OUT_OF_REACH
from schemas.registry import Key
from schemas.runtime.clock import format_instant
from schemas.tables import CLICKS, ColumnType

DECIMALS = 6
"""Decimals of a mean, a quantile or a sum of fractions."""


class RowAccess(Struct, frozen=True):
    """Which rows of the stored table the caller sees."""

    column: str
    value: str


class CustomQuery(Struct, frozen=True):
    """A custom query that is sound, and complete."""

    organization_id: str
    """The organization that asks."""
    plan: ValidatedQuery
    row_access: RowAccess
    time_range: TimeRange
    limit: int
    offset: int
    as_of: AsOf
    include_bots: bool

    def scope(self, pinned: PinnedVersion) -> Scope:
        """What it may see in that version."""
        table = self.plan.table
        own = f"\n AND {table.where}" if table.where else ""
        filters = Sql("") if table.is_computed else self.plan.where
        return Scope(
            pinned=pinned,
            subject_column=self.row_access.column,
            subject=self.row_access.value,
            span=self.time_range,
            where=Sql(own + filters.text, filters.values),
            include_bots=self.include_bots,
        )

    async def sql(self, desk: QueryDependencies, pinned: PinnedVersion) -> Sql:
        """The statement over that version."""
        scope = self.scope(pinned)
        return await compile_page(
            desk.custom_limiter.for_tenant(self.organization_id),
            self.plan,
            scope,
            self.limit,
            self.offset,
        )


class CustomResult(Struct, frozen=True):
    """The rows of one page, from one version."""

    rows: Sequence[Row]
    total: int
    snapshot: PinnedVersion


def parse_custom_query(
    desk: QueryDependencies, body: CustomRequest, who: QuerySubject, key: Key, zone: str | None
) -> CustomQuery:
    """The query of a body; the query string's `zone` goes first, that of the subject last."""
    plan = validate(body.query)
    seen = row_access(plan.table, who, key)
    name = check_time_zone("timezone", zone or body.timezone or who.time_zone)
    whole = parse_time_range(
        body.start_date, body.end_date, body.preset, name, desk.clock(), MAX_DAYS
    )
    if plan.granularity is not None:
        whole.points(plan.granularity)  # too many are refused
    offset = (body.page - 1) * body.limit
    return CustomQuery(
        who.organization_id, plan, seen, whole, body.limit, offset, body.as_of, body.include_bots
    )


def row_access(table: CustomTable, who: QuerySubject, key: Key) -> RowAccess:
    """Rows of the website or the link; clicks of a website: of all its organization's links."""
    stored = table.table
    if who.kind is SubjectKind.LINK and stored is not CLICKS:
        raise Malformed(f"Table '{table.name}' is asked with 'website_id', not 'link_id'")
    if who.kind is SubjectKind.WEBSITE and stored is CLICKS:
        if key.website_id is not None:
            raise Forbidden(OUT_OF_REACH.format(what="links of the organization"))
        return RowAccess("organization_id", key.organization_id)
    return RowAccess(stored.subject_column, who.id)


async def execute_custom_query(
    desk: QueryDependencies, one: CustomQuery, budget: ResponseBudget
) -> CustomResult:
    """The rows of one page, from one version."""
    table = one.plan.table.table

    async def run(pinned: PinnedVersions) -> CustomResult:
        return await _page(desk, one, pinned.of(table), budget)

    return await desk.snapshots.with_pinned([table], one.as_of, run)


async def _page(
    desk: QueryDependencies, one: CustomQuery, pinned: PinnedVersion, budget: ResponseBudget
) -> CustomResult:
    engine = desk.custom_limiter.for_tenant(one.organization_id)
    rows = await engine.rows(await one.sql(desk, pinned), budget.seconds)
    total = rows[0][-1] if rows else 0
    if not rows and one.offset:
        count = await compile_count(engine, one.plan, one.scope(pinned))
        [(total,)] = await engine.rows(count, budget.seconds)
    return CustomResult([row[:-1] for row in rows], total, pinned)


def result_rows(one: CustomQuery, rows: Sequence[Row]) -> Sequence[Mapping[str, object]]:
    """Result rows by name, every value one that JSON has."""
    plan = one.plan
    instants = [group.type is ColumnType.TIMESTAMP for group in plan.groups]
    for each in plan.selects:
        kept = each.aggregate.result is ResultType.SAME
        instants.append(
            kept and each.column is not None and each.column.type is ColumnType.TIMESTAMP
        )
    return [
        {
            name: _json(value, instant)
            for name, value, instant in zip(plan.outputs, row, instants, strict=True)
        }
        for row in _with_bucket_labels(one, rows)
    ]


def _with_bucket_labels(one: CustomQuery, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with the label of their bucket of time."""
    granularity = one.plan.granularity
    if granularity is None:
        return rows
    labels = {point.bucket: point.label for point in one.time_range.points(granularity)}
    at = next(i for i, group in enumerate(one.plan.groups) if group.granularity)
    return [(*row[:at], labels[row[at]], *row[at + 1 :]) for row in rows]


def _json(value: object, instant: bool) -> object:
    if instant and isinstance(value, int):
        return format_instant(value)
    if isinstance(value, Decimal | float):
        return round(float(value), DECIMALS)
    return value
