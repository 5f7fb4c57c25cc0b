"""The plan of a standard query: the statement of its type, run, compared, sorted and paged.

The engine sorts and pages most results. A series, and the rows that a type makes in Python, are
computed as a whole first and then sorted and paged here.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial

from msgspec import Struct, structs

from query.engine.engine import Row, Sql
from query.prepared.array_rows import ArrayRows
from query.prepared.forms import RollupPlan, of_filters
from query.prepared.not_prepared import COSTLY_FILTERS, NotPrepared
from query.prepared.text_filters import MAX_EVALUATIONS, condition_count, kept_shares
from query.request.body import convert
from query.request.filter_struct import fields_named
from query.request.query import MAX_ROWS, PageOptions, Query
from query.request.time_range import Granularity, SeriesPoint, TimeRange
from query.response.bodies import ResultWarning
from query.response.compiled_bodies import FurtherStatement
from query.response.worker_threads import run_in_worker
from query.run.comparison import Comparison, comparison_with
from query.run.plan import Page, Source, read_page
from query.scope.scope import Scope
from query.scope.visitor_facts import names_visitor_facts
from query.sql import result_forms
from query.sql.result_forms import Count, RowsOfKeys
from query.standard import sort_order
from query.standard.applicability import check_own_members
from query.standard.comparison import (
    compare_rows,
    key_fields,
    match_by_key,
    match_by_point,
    rows_at,
)
from query.standard.declaration.fields import ABSENT, FieldSpec, field_specs, no_low, to_row
from query.standard.declaration.listing import PageKeyQuery
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.result_check import DAILY_IDS, ResultCheck
from query.standard.declaration.statement import Statement, StoredColumns, requested_range
from query.standard.imported_warnings import imported_beside
from query.standard.nested_lists import fill_nested_lists
from query.standard.page_keys import (
    MAX_KEYS,
    PageKeys,
    find_newest_rows,
    find_page_keys,
    find_prepared_keys,
)
from query.standard.query_types import find_query_type, tables_read
from query.standard.scope import scopes_of
from query.standard.shared_queries import check_shared_options
from query.standard.sql.breakdown import chosen_values, with_values
from query.standard.statement import build_statement
from schemas.errors import Malformed, ResultTooLarge
from schemas.tables import EVENTS, Table
from schemas.telemetry.spans import child_span

NO_FORM = "rows of this query type are not prepared"
OTHER_FILTERS = (
    "filters on other fields than those of the list, places, devices and some facts of the visit "
    "read stored rows"
)
TOO_MANY_ROWS = "the stored rows that complete prepared ones are too many"
EMPTY_OR_NULL = "the filter tells empty texts from NULL, which the list does not"


ALL_ROWS = PageOptions(limit=10_000)


class StandardPlan(Struct, frozen=True, dict=True):
    """One parameter of a request."""

    query: Query
    in_custom_pool: bool = False

    @property
    def name(self) -> str:
        return self.query.name

    @cached_property
    def tables(self) -> Sequence[Table]:
        return tables_read(self.query)

    @property
    def live_table(self) -> Table | None:
        query_type = find_query_type(self.name, self.query.subject.kind)
        return query_type.table if query_type.is_live and self.query.as_of is None else None

    def bind(self, source: Source) -> "BoundQuery":
        query = self.query
        check_own_members(query)
        query_type = find_query_type(query.name, query.subject.kind)
        options = query_type.options and convert(
            query.options, query_type.options, query.path
        ).resolve(query.subject.saved, query.path)
        if query.subject.shared_filters is not None:
            check_shared_options(query_type, options)
        statement = query_type.statement(options)
        scopes = scopes_of(query, query_type, statement, source.versions)
        sort_order.check_order(query_type, query.page.order)
        return BoundQuery(
            query,
            query_type,
            statement,
            scopes,
            source,
            rollup_plan=query_type.rollup_plan(options),
            stored_columns=query_type.columns_beside_parts(options),
            page_keys=query_type.page_key_query(options),
            checks=checks_of(query, query_type, options),
        )


class BoundQuery(Struct, frozen=True):
    """A query with its statement, scopes and source."""

    query: Query
    query_type: QueryType
    statement: Statement
    scopes: Mapping[str, Scope]
    """By table name."""
    source: Source
    rollup_plan: RollupPlan | None = None
    stored_columns: StoredColumns | None = None
    """What completes the rows from prepared results."""
    page_keys: PageKeyQuery | None = None
    """How the keys on a page are found first; None when all rows are computed."""
    checks: Sequence[ResultCheck] = ()
    """What warnings of the result come from."""
    nothing_is_none: bool = False
    """Whether a ratio of nothing is None rather than 0: in rows that others are compared with."""

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
    def bucket(self) -> Granularity | None:
        return self.granularity if self.query_type.starts_with_time else None

    @property
    def bucket_scope(self) -> Scope:
        """The scope with the bucket width of the statement."""
        return structs.replace(self.scope, granularity=self.granularity)

    @property
    def points(self) -> list[SeriesPoint]:
        """Every bucket of the time range."""
        return self.time_range.points(self.granularity)

    @property
    def limit_offset(self) -> tuple[int, int]:
        """Rows of the page, and rows before it."""
        query_type = self.query_type
        default = MAX_ROWS if query_type.series else query_type.default_limit
        return self.query.page.limit_offset(default, query_type.max_limit)

    @property
    def further(self) -> Sequence[FurtherStatement]:
        listing, page, keys = self.query_type.listing, self.query.page, self.page_keys
        fields = [order.field for order in page.order]
        runs: dict[FurtherStatement, bool] = {
            "page_keys": keys is not None
            and keys.can_order_by(fields)
            and sum(self.limit_offset) <= MAX_KEYS,
            "newest_rows": listing.newest_rows is not None and not page.order,
            "nested_lists": bool(listing.nested_lists),
            "comparison": self.query.comparison_range is not None,
            "stored_columns": self.stored_columns is not None,
        }
        return [name for name, does in runs.items() if does]

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
        if self.rollup_plan is None:
            raise NotPrepared(NO_FORM)
        rows = await self.rows_of(self.rollup_plan)
        beside = self.stored_columns
        if beside is None:
            return rows
        try:
            stored = await self.remembering.fetch(beside.statement)
        except ResultTooLarge:  # the statement of the type gives one page
            raise NotPrepared(TOO_MANY_ROWS) from None
        join = partial(beside.join, rows, stored)
        return await run_in_worker(len(rows) + len(stored), join)

    async def rows_of(self, rollup_plan: RollupPlan) -> Sequence[Row]:
        """All rows of a plan from prepared results; NotPrepared says why there are none."""
        if (chosen := of_filters(rollup_plan, self.query.filters)) is None:
            raise NotPrepared(OTHER_FILTERS)
        rollup_plan, keeps = chosen
        rows = await self.source.prepared_rows(
            rollup_plan, self.query, self.scope, self.granularity
        )
        if keeps is None:
            return rows
        if len(rows) * condition_count(self.query.filters) > MAX_EVALUATIONS:
            raise NotPrepared(COSTLY_FILTERS)
        kept = await run_in_worker(
            len(rows), partial(kept_shares, rows, rollup_plan.text_count, keeps)
        )
        if kept is None:
            raise NotPrepared(EMPTY_OR_NULL)
        return kept

    @property
    def remembering(self) -> "BoundQuery":
        """The same, of which prepared results remember the rows that SQL gives."""
        return structs.replace(self, source=self.source.remembering(self.query))

    async def page_of(self, rows: Sequence[Row]) -> Page:
        rows = self.labelled(rows)
        points = self.points if self.query_type.series else []
        return await run_in_worker(len(rows) + len(points), partial(self._sorted, points, rows))

    async def stored_page(self) -> Page:
        bound, page_keys = await self._of_page()
        if page_keys is not None and not page_keys.total:
            return Page((), 0)
        page = await (bound._whole() if self._in_python else bound._paged())
        rows = await bound.with_nested_lists(page.rows)
        return structs.replace(page, rows=rows, total=page_keys.total if page_keys else page.total)

    async def page_sql(self) -> Sql:
        """The statement that gives the rows of a page; Malformed for too many buckets."""
        if self.query.comparison_range is not None:
            self._check_comparable()
        if self.query_type.series:
            _ = self.points
        return await self._built(self.statement if self._in_python else self._page_statement())

    async def warnings(self) -> Sequence[ResultWarning]:
        warnings: list[ResultWarning] = []
        for check in self.checks:
            for row in await self.remembering.fetch(check.statement):
                warnings += check.warnings(row)
        if (beside := imported_beside(self.query, self.query_type, self.scope)) is not None:
            sql = await build_statement(self.source.engine, beside.totals, beside.statement)
            rows = await self.remembering.source.rows(sql)
            warnings += [beside.warning(row) for row in rows]
        return warnings

    async def compare(self, page: Page) -> Comparison:
        """Rows are matched by text, buckets of a series by their position in the time range."""
        self._check_comparable()
        time_range = self.query.comparison_range or self.query.time_range
        query = structs.replace(self.query, time_range=time_range)
        chosen = chosen_values(self.statement)
        if chosen is None:
            statement = self.statement
        else:  # its groups are those of the requested time range
            values = [value for (value,) in await self.fetch(chosen)]
            statement = with_values(self.statement, values)
        other = structs.replace(
            self,
            query=query,
            scopes=scopes_of(query, self.query_type, statement, self.source.versions),
            statement=statement,
            nothing_is_none=True,
        )
        previous = await self._previous_rows(other, page)
        compared = partial(
            compare_rows, page.rows, previous, absent_is_zero=not self.query_type.series
        )
        return comparison_with(other.time_range, await run_in_worker(len(previous), compared))

    async def fetch(self, statement: Statement) -> list[Row]:
        """The rows that the engine gives for a statement."""
        with child_span("statement"):
            sql = await self._built(statement)
        return await self.source.rows(sql)

    async def with_nested_lists(self, rows: Sequence[Struct]) -> Sequence[Struct]:
        """The rows of a page with their nested lists filled."""
        source, filled = self.source, list(rows)
        for nested in self.query_type.listing.nested_lists:
            filled = await fill_nested_lists(
                source.engine, nested, self.scopes, filled, source.seconds_left
            )
        return filled

    def labelled(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows, buckets of a sparse series as labels."""
        if not self.query_type.sparse:
            return rows
        points = self.scope.time_range.points(self.granularity)
        labels = {point.bucket: point.label for point in points}

        def label(row: Row) -> Row:
            return (labels[row[0]], *row[1:])

        return rows.mapped(label) if isinstance(rows, ArrayRows) else [label(row) for row in rows]

    @property
    def _in_python(self) -> bool:
        """Whether all rows are computed, sorted and paged here."""
        return self.query_type.series or self.statement.rows_in_python is not None

    async def _built(self, statement: Statement) -> Sql:
        if (range_values := statement.range_values) is not None:
            values = range_values(self.query.time_range, self.query.now_ms)
            statement = structs.replace(statement, values={**statement.values, **values})
        return await build_statement(self.source.engine, self.bucket_scope, statement, self.scopes)

    def _check_comparable(self) -> None:
        """Malformed for a type whose time range, or comparison, is its own."""
        if self.statement.range_values is not None:
            raise Malformed(
                f"Query type '{self.query_type.name}' compares by itself and does not support "
                "'compare'"
            )
        if self.statement.time_range_override is not requested_range:
            raise Malformed(
                f"Query type '{self.query_type.name}' has a fixed time range and does not support "
                "'compare'"
            )

    async def _of_page(self) -> tuple["BoundQuery", PageKeys | None]:
        """The query of the keys, or of the time, of its page; all of it when none are found first.

        Pages that are found by prepared results are remembered with them.
        """
        order, key_query = self.query.page.order, self.page_keys
        newest, last = self.query_type.listing.newest_rows, sum(self.limit_offset)
        if newest is not None and not order:
            found, prepared = await find_newest_rows(
                newest, self.scope, last, self.rows_of, self.fetch
            )
            return (self.remembering if prepared else self).with_keys(found), found
        if key_query is None:
            return self, None
        wanted = key_query, self.bucket_scope, order, last
        keys = await find_prepared_keys(*wanted, self.rows_of, self.remembering.fetch)
        if keys is not None:
            return self.remembering.with_keys(keys), keys
        source = self.source
        keys = await find_page_keys(source.engine, *wanted, self.scopes, source.seconds_left)
        return (self if keys is None else self.with_keys(keys)), keys

    def with_keys(self, keys: PageKeys) -> "BoundQuery":
        """The same, of these keys only."""
        return structs.replace(self, scopes={**self.scopes, self.query_type.table.name: keys.scope})

    async def _paged(self) -> Page:
        """The engine sorts and pages; each row ends with the number of rows of all pages."""
        rows = self.labelled(await self.fetch(self._page_statement()))
        total = rows[0][-1] if rows else 0
        if not rows and self.query.page.number > 1:
            [(total,)] = await self.fetch(structs.replace(self.statement, form=Count()))
        return Page(await run_in_worker(len(rows), partial(self.to_rows, rows)), total)

    async def _whole(self) -> Page:
        """All rows are computed, sorted and paged here."""
        if self.query_type.series:
            _ = self.points  # before the SQL runs: there may be too many
        return await self.page_of(await self.fetch(self.statement))

    def _page_statement(self) -> Statement:
        """The statement for one page; its last column is the number of rows of all pages."""
        limit, offset = self.limit_offset
        order = sort_order.order_terms(self.query_type, self.query.page.order)
        return structs.replace(
            self.statement,
            form=result_forms.Page(order=tuple(order)),
            values={**self.statement.values, "limit": limit, "offset": offset},
        )

    def _sorted(self, points: Sequence[SeriesPoint], rows: Sequence[Row]) -> Page:
        """One page of all rows, in the requested order."""
        order = self.query.page.order
        if self.query_type.series:
            rows = fill_series(rows, points, field_specs(self.query_type.row))
        if (rows_in_python := self.statement.rows_in_python) is not None:
            rows = rows_in_python(rows, self.time_range, self.query.now_ms, self.granularity)
        limit, offset = self.limit_offset
        if not order:
            positions = range(len(rows))[offset : offset + limit]
            return Page(self.to_rows(rows[offset : offset + limit]), len(rows), positions)
        if isinstance(rows, ArrayRows):
            orders = [(term.field, term.direction == "asc") for term in order]
            return Page(self.to_rows(rows.page(orders, offset, offset + limit)), len(rows))
        ordered = sort_order.sort_rows(enumerate(self.to_rows(rows)), order)
        page = ordered[offset : offset + limit]
        return Page([row for _, row in page], len(ordered), [position for position, _ in page])

    async def _previous_rows(self, other: "BoundQuery", page: Page) -> Sequence[Struct | None]:
        """The row of the other time range for each row of a page."""
        query_type, keys = self.query_type, key_fields(self.query_type)
        by_text = (
            keys and not query_type.starts_with_time and other.statement.rows_in_python is None
        )
        if by_text:
            return match_by_key(await other._rows_of_keys(page.rows, keys[0]), page.rows, keys)
        all_rows = structs.replace(other, query=structs.replace(other.query, page=ALL_ROWS))
        previous = (await read_page(all_rows)).rows
        if query_type.series:
            return rows_at(previous, page.positions)
        if query_type.starts_with_time:
            return match_by_point(previous, other.points, page.rows, self.points, keys)
        if not keys:
            return rows_at(previous, range(len(page.rows)))
        return match_by_key(previous, page.rows, keys)

    async def _rows_of_keys(self, rows: Sequence[Struct], key: str) -> Sequence[Struct]:
        """Rows with a text of the result, however low they rank, in the order of the type."""
        texts = sorted({value for row in rows if (value := getattr(row, key)) is not None})
        column = self.query_type.sql_columns.index(key)
        try:
            every_row = await self.prepared_rows()
            having = partial(_having, every_row, column, frozenset(texts))
            previous: Sequence[Row] = await run_in_worker(len(every_row), having)
        except NotPrepared:
            names = tuple(f"c{i}" for i in range(len(self.query_type.sql_columns)))
            narrowed = structs.replace(
                self.statement,
                form=RowsOfKeys(columns=names, key=names[column]),
                values={**self.statement.values, "keys": texts},
            )
            previous = self.labelled(await self.fetch(narrowed))
        shown = await run_in_worker(len(previous), partial(self.to_rows, previous))
        return await self.with_nested_lists(shown)


def _having(rows: Sequence[Row], column: int, texts: Collection[object]) -> list[Row]:
    """The rows with one of these texts in a column."""
    return [row for row in rows if row[column] in texts]


def fill_series(
    rows: Sequence[Row], points: Sequence[SeriesPoint], specs: Mapping[str, FieldSpec]
) -> list[Row]:
    """A row for every bucket of the time range, in order; zeros where nothing happened."""
    by_bucket = {row[0]: row[1:] for row in rows}
    zeros = [
        None if spec.is_of_nothing is no_low else 0
        for spec in list(specs.values())[1:]
        for _ in spec.suffixes
    ]
    return [(point.label, *by_bucket.get(point.bucket, zeros)) for point in points]


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
