"""One standard query with all that is needed to run it: its statement, its scopes, its parts."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.engine.snapshots import PinnedVersion
from query.prepared.array_rows import ArrayRows
from query.prepared.forms import PreparedForm, of_filters
from query.prepared.not_prepared import COSTLY_FILTERS, NotPrepared
from query.prepared.prepared_results import PreparedResults
from query.prepared.rows_of_form import reads_stored_rows, rows_of_form
from query.prepared.text_filters import MAX_EVALUATIONS, condition_count, kept_shares
from query.request.body import convert
from query.request.filter_struct import fields_named
from query.request.query import Query
from query.request.time_range import Granularity, SeriesPoint, TimeRange
from query.response.bodies import ResultWarning
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.scope.visitor_facts import names_visitor_facts
from query.sql.fragment import Fragment
from query.standard import sort_order
from query.standard.declaration.fields import ABSENT, field_specs, to_row
from query.standard.declaration.listing import PageKeyQuery
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.result_check import DAILY_IDS, ResultCheck
from query.standard.declaration.statement import Statement
from query.standard.declaration.stored_columns import StoredColumns
from query.standard.page_keys import PageKeys
from query.standard.query_types import find_query_type
from query.standard.scope import scopes_of
from query.standard.shared_queries import check_shared_options
from query.standard.statement import build_statement
from schemas.errors import ResultTooLarge
from schemas.tables import EVENTS
from schemas.telemetry.spans import child_span

NO_FORM = "rows of this query type are not prepared"
OTHER_FILTERS = (
    "filters on other fields than those of the list, places, devices and some facts of the visit "
    "read stored rows"
)
TOO_MANY_ROWS = "the stored rows that complete prepared ones are too many"
EMPTY_OR_NULL = "the filter tells empty texts from NULL, which the list does not"


class PreparedQuery(Struct, frozen=True):
    """A query with its statement and scopes; all its SQL shares the time until the deadline."""

    query: Query
    query_type: QueryType
    statement: Statement
    scopes: Mapping[str, Scope]
    """By table name."""
    engine: Engine
    deadline: float
    """In the time of the event loop."""
    results: PreparedResults | None = None
    """Prepared results, where there are any."""
    form: PreparedForm | None = None
    """How the rows are made from them; None when they cannot be."""
    stored_columns: StoredColumns | None = None
    """What completes these rows."""
    page_keys: PageKeyQuery | None = None
    """How the keys on a page are found first; None when all rows are computed."""
    checks: Sequence[ResultCheck] = ()
    """What warnings of the result come from."""
    nothing_is_none: bool = False
    """Whether a ratio of nothing is None rather than 0: in rows that others are compared with."""

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    @property
    def scope(self) -> Scope:
        """The scope in the type's own table."""
        return self.scopes[self.query_type.table.name]

    @property
    def time_range(self) -> TimeRange:
        """The time range of the result; rows may be read of a longer one."""
        return self.query_type.time_range_override(self.query.time_range, self.query.now_ms)

    @property
    def granularity(self) -> Granularity:
        """Width of the buckets."""
        return self.statement.granularity or self.scope.granularity

    @property
    def bucket_scope(self) -> Scope:
        """The scope with the bucket width of the statement."""
        return structs.replace(self.scope, granularity=self.granularity)

    @property
    def points(self) -> list[SeriesPoint]:
        """Every bucket of the time range."""
        return self.time_range.points(self.granularity)

    def to_rows(self, rows: Sequence[Row]) -> list[Struct]:
        """Rows of the result from rows of SQL."""
        specs = field_specs(self.query_type.row)
        if self.nothing_is_none:
            specs = {name: spec.or_none for name, spec in specs.items()}
        if self.statement.absent:
            specs = {**specs, **dict.fromkeys(self.statement.absent, ABSENT)}
        return [to_row(self.query_type.row, row, specs) for row in rows]

    async def prepared_rows(self) -> Sequence[Row]:
        """All rows of the statement from prepared results; NotPrepared says why there are none."""
        if self.form is None:
            raise NotPrepared(NO_FORM)
        rows = await self.rows_of(self.form)
        beside = self.stored_columns
        if beside is None:
            return rows
        try:
            stored = await self.remembering.fetch(beside.statement)
        except ResultTooLarge:  # the statement of the type gives one page
            raise NotPrepared(TOO_MANY_ROWS) from None
        join = partial(beside.join, rows, stored)
        return await run_in_worker(len(rows) + len(stored), join)

    async def rows_of(self, form: PreparedForm) -> Sequence[Row]:
        """All rows of a form from prepared results; NotPrepared says why there are none."""
        if (chosen := of_filters(form, self.query.filters)) is None:
            raise NotPrepared(OTHER_FILTERS)
        form, keeps = chosen
        scope = structs.replace(self.scope, where=Fragment(), visit_where=Fragment())
        rows = await rows_of_form(
            self.results, form, self.query, scope, self.engine, self.seconds_left, self.granularity
        )
        if keeps is None:
            return rows
        if len(rows) * condition_count(self.query.filters) > MAX_EVALUATIONS:
            raise NotPrepared(COSTLY_FILTERS)
        kept = await run_in_worker(len(rows), partial(kept_shares, rows, form.text_count, keeps))
        if kept is None:
            raise NotPrepared(EMPTY_OR_NULL)
        return kept

    @property
    def remembering(self) -> "PreparedQuery":
        """The same, of which prepared results remember the rows that SQL gives."""
        if self.results is None or reads_stored_rows(self.query):
            return self
        return structs.replace(self, engine=self.results.remembering(self.engine))

    async def warnings(self) -> Sequence[ResultWarning]:
        """What the numbers of the result leave out or cannot tell."""
        found: list[ResultWarning] = []
        for check in self.checks:
            for row in await self.remembering.fetch(check.statement):
                found += check.warnings(row)
        return found

    def with_keys(self, keys: PageKeys) -> "PreparedQuery":
        """The same, of these keys only."""
        return structs.replace(self, scopes={**self.scopes, self.query_type.table.name: keys.scope})

    async def fetch(self, statement: Statement) -> list[Row]:
        """The rows that the engine gives for a statement."""
        with child_span("statement"):
            sql = await build_statement(self.engine, self.bucket_scope, statement, self.scopes)
        return await self.engine.rows(sql, self.seconds_left)

    async def fetch_labelled(self, statement: Statement) -> Sequence[Row]:
        """The rows of a statement, buckets of a sparse series as labels."""
        return self.labelled(await self.fetch(statement))

    def labelled(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows, buckets of a sparse series as labels."""
        if not self.query_type.sparse:
            return rows
        labels = {point.bucket: point.label for point in self.points}

        def label(row: Row) -> Row:
            return (labels[row[0]], *row[1:])

        return rows.mapped(label) if isinstance(rows, ArrayRows) else [label(row) for row in rows]


def checks_of(query: Query, query_type: QueryType, options: object) -> Sequence[ResultCheck]:
    """The checks of the type, and that of filters by when visitors were first or last seen.

    On a shared dashboard none that looks past its fixed filters.
    """
    checks = query_type.result_checks(options)
    if query.subject.shared_filters is not None:
        return [check for check in checks if check is not DAILY_IDS]
    fields = set().union(*map(fields_named, query.filters))
    by_times = query_type.table is EVENTS and names_visitor_facts(fields)
    return (*checks, DAILY_IDS) if by_times and DAILY_IDS not in checks else checks


def prepare(
    query: Query,
    versions: Mapping[str, PinnedVersion],
    engine: Engine,
    deadline: float,
    results: PreparedResults | None = None,
) -> PreparedQuery:
    """The query with its statement and scopes; Malformed when the request is wrong."""
    query_type = find_query_type(query.name, query.subject.kind)
    options = query_type.options and convert(query.options, query_type.options, query.path).resolve(
        query.subject.saved, query.path
    )
    if query.subject.shared_filters is not None:
        check_shared_options(query_type, options)
    statement = query_type.statement(options)
    scopes = scopes_of(query, query_type, statement, versions)
    sort_order.check_order(query_type, query.page.order)
    form = query_type.prepared_form(options)
    beside = query_type.columns_beside_parts(options)
    return PreparedQuery(
        query, query_type, statement, scopes, engine, deadline, results, form, beside,
        query_type.page_key_query(options), checks_of(query, query_type, options),
    )  # fmt: skip
