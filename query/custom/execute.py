"""Executes a custom query on one version of each table that it reads."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial

from msgspec import UNSET, Struct, UnsetType, structs
from starlette.requests import Request

from query.custom.aggregates import ResultType
from query.custom.compiler import compile_count, compile_page
from query.custom.prepared_form import prepared_form
from query.custom.request import DEFAULT_LIMIT, MAX_DAYS, CustomRequest
from query.custom.row_access import RowAccess, row_access
from query.custom.scope import custom_scope, tables_of_visitors
from query.custom.validation import ValidatedQuery, validate
from query.dependencies import QueryDependencies
from query.engine.deadline import timeout_error
from query.engine.engine import Engine, Row, Sql
from query.engine.routing import bytes_to_read
from query.engine.snapshots import PinnedVersion, PinnedVersions
from query.engine.tenant_limits import TenantEngine
from query.prepared.array_rows import ArrayRows
from query.prepared.not_prepared import NotPrepared
from query.prepared.part_reader import Work
from query.prepared.row_groups import RowGroups
from query.prepared.rows_of_form import rows_of_form
from query.request.prepared_parameter import uses_prepared
from query.request.query import PageOptions, Query
from query.request.segments import expand_segments
from query.request.subject import QuerySubject
from query.request.time_parameters import parse_time_range
from query.request.time_range import check_time_zone
from query.response.response_budget import ResponseBudget
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.sql.fragment import Fragment
from schemas.registry import Key
from schemas.runtime.clock import format_instant
from schemas.tables import ColumnType, Table
from schemas.telemetry.instruments import PREPARED_ANSWERS, timed_query
from schemas.telemetry.spans import child_span, note

Versions = Mapping[str, PinnedVersion]
"""The version of each table, by its name."""

DECIMALS = 6
"""Decimals of a mean, a quantile or a sum of fractions."""


class PreparedCustomQuery(Struct, frozen=True):
    """A query with its plan and the rows that its caller may see."""

    query: Query
    plan: ValidatedQuery
    row_access: RowAccess
    form: RowGroups | None
    """How the rows are made from prepared results; None when they cannot be."""
    reason: str
    """Why they cannot be."""

    @property
    def tables(self) -> Sequence[Table]:
        """The stored tables that it reads, its own first."""
        of_visitors = tables_of_visitors(self.query, self.plan.table)
        return tuple(dict.fromkeys((*self.plan.tables, *of_visitors)))

    def scope(self, versions: Versions) -> Scope:
        """The rows of these versions that it may see."""
        plan = self.plan
        return custom_scope(
            self.query, plan.table, self.row_access, plan.where, versions, self.query.by_profile
        )

    async def sql(self, engine: Engine, versions: Versions) -> Sql:
        """The SQL of its page over these versions."""
        limit, offset = self.query.page.limit_offset(DEFAULT_LIMIT)
        return await compile_page(engine, self.plan, self.scope(versions), limit, offset)


class CustomResult(Struct, frozen=True):
    """The rows of one page, and the version of each table that was read."""

    rows: Sequence[Row]
    total: int
    versions: Versions
    engine: str | UnsetType = UNSET
    """The name of the engine, where there are several."""
    prepared: bool = False
    """Whether the rows come from prepared results."""


def parse_custom_query(
    dependencies: QueryDependencies,
    body: CustomRequest,
    subject: QuerySubject,
    key: Key,
    request: Request,
) -> PreparedCustomQuery:
    """The query of a body; the time zone of the query string overrides the body's."""
    zone = request.query_params.get("timezone")
    filters = expand_segments(body.query.filters, subject.saved, "query.filters")
    expanded = structs.replace(body.query, filters=filters)
    plan = validate(expanded)
    access = row_access(plan.table, subject, key)
    now_ms = dependencies.clock()
    name = check_time_zone("timezone", zone or body.timezone or subject.time_zone)
    time_range = parse_time_range(
        body.start_date, body.end_date, body.preset, name, now_ms, MAX_DAYS
    )
    if plan.granularity is not None:
        time_range.points(plan.granularity)  # Malformed for too many
    query = Query(
        subject=subject,
        time_range=time_range,
        now_ms=now_ms,
        filters=body.query.filters,
        include_bots=body.include_bots,
        by_profile=body.person == "profile",
        prepared=uses_prepared(request),
        as_of=body.as_of,
        page=PageOptions(body.page, body.limit),
        name=plan.table.name,
    )
    try:
        form, reason = prepared_form(expanded, plan, time_range), ""
    except NotPrepared as error:
        form, reason = None, str(error)
    return PreparedCustomQuery(query, plan, access, form, reason)


def custom_engine(
    dependencies: QueryDependencies, query: Query, versions: Versions
) -> TenantEngine:
    """The engine for these versions, as the organization of the query may use it."""
    read_bytes = bytes_to_read(versions.values(), query.subject.ids, [query.time_range])
    return dependencies.custom_limiter.for_tenant(query.subject.organization_id, read_bytes)


async def execute_custom_query(
    dependencies: QueryDependencies, prepared: PreparedCustomQuery, budget: ResponseBudget
) -> CustomResult:
    """The rows of one page, from one version of each table."""
    tables, query = prepared.tables, prepared.query

    async def run(pinned: PinnedVersions) -> CustomResult:
        versions = pinned.of_all(tables)
        engine = custom_engine(dependencies, query, versions)
        async with dependencies.active.slot(query.subject.tenant, budget.ends):
            with timed_query("custom", engine.name):
                with suppress(NotPrepared):
                    rows = await prepared_rows(dependencies, engine, prepared, versions, budget)
                    return await _page_of(rows, engine, prepared, versions)
                if prepared.form is not None:
                    PREPARED_ANSWERS.labels("rows").inc()
                return await _page(engine, prepared, versions, budget)

    return await dependencies.snapshots.with_pinned(tables, query.as_of, run)


async def prepared_rows(
    dependencies: QueryDependencies,
    engine: TenantEngine,
    prepared: PreparedCustomQuery,
    versions: Versions,
    budget: ResponseBudget,
) -> Sequence[Row]:
    """The rows of all pages from prepared results; NotPrepared says why there are none."""
    if prepared.form is None:
        raise NotPrepared(prepared.reason)
    scope = structs.replace(prepared.scope(versions), where=Fragment())
    try:
        async with asyncio.timeout_at(budget.ends):
            return await rows_of_form(
                dependencies.results, prepared.form, prepared.query, scope, engine, budget.seconds,
                work=Work.CUSTOM,
            )  # fmt: skip
    except TimeoutError:
        raise timeout_error() from None


async def _page_of(
    rows: Sequence[Row], engine: TenantEngine, prepared: PreparedCustomQuery, versions: Versions
) -> CustomResult:
    """A page of all rows, in the order of the query."""
    limit, offset = prepared.query.page.limit_offset(DEFAULT_LIMIT)
    page: Callable[[], Sequence[Row]] = partial(rows.__getitem__, slice(offset, offset + limit))
    if isinstance(rows, ArrayRows):
        orders = [(str(term.position), not term.descending) for term in prepared.plan.order]
        page = partial(rows.page, orders, offset, offset + limit)
    PREPARED_ANSWERS.labels("prepared").inc()
    note({"tidemark.prepared": True})
    own = await run_in_worker(len(rows), page)
    return CustomResult(own, len(rows), versions, engine.reported_name, prepared=True)


async def _page(
    engine: TenantEngine,
    prepared: PreparedCustomQuery,
    versions: Versions,
    budget: ResponseBudget,
) -> CustomResult:
    with child_span("statement"):
        sql = await prepared.sql(engine, versions)
    rows = await engine.rows(sql, budget.seconds)
    total = rows[0][-1] if rows else 0
    if not rows and prepared.query.page.number > 1:
        count = await compile_count(engine, prepared.plan, prepared.scope(versions))
        [(total,)] = await engine.rows(count, budget.seconds)
    return CustomResult([row[:-1] for row in rows], total, versions, engine.reported_name)


def result_rows(
    prepared: PreparedCustomQuery, rows: Sequence[Row]
) -> Sequence[Mapping[str, object]]:
    """Result rows as objects of JSON values."""
    plan = prepared.plan
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
        for row in _with_bucket_labels(prepared, rows)
    ]


def _with_bucket_labels(prepared: PreparedCustomQuery, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with the label of their time bucket."""
    granularity = prepared.plan.granularity
    if granularity is None:
        return rows
    labels = {point.bucket: point.label for point in prepared.query.time_range.points(granularity)}
    at = next(i for i, group in enumerate(prepared.plan.groups) if group.granularity)
    return [(*row[:at], labels[row[at]], *row[at + 1 :]) for row in rows]


def _json(value: object, instant: bool) -> object:
    if instant and isinstance(value, int):
        return format_instant(value)
    if isinstance(value, Decimal | float):
        return round(float(value), DECIMALS)
    return value
