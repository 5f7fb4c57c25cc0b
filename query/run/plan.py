"""Plan: one parsed query, of whichever language; and where its rows come from.

A parser makes a `Plan`. Bound to a `Source`, which has the versions of its tables, an engine and
the prepared results, it gives pages: from prepared results where they answer it, else from stored
rows. `journey.py` runs bound plans, `explain.py` says what they would do.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType, structs

from query.engine.engine import Engine, Row, Sql
from query.engine.snapshots import PinnedVersion
from query.prepared.forms import RollupPlan
from query.prepared.not_prepared import NotPrepared
from query.prepared.prepared_results import PreparedResults
from query.prepared.rollup_reader import Work
from query.prepared.rows_of_form import reads_stored_rows, rows_of_form
from query.request.buckets import Granularity
from query.request.query import Query
from query.request.time_range import TimeRange
from query.response.bodies import ResultWarning, SeriesAnnotation
from query.response.compiled_bodies import FurtherStatement
from query.run.comparison import Comparison
from query.scope.scope import Scope
from schemas.tables import Table
from schemas.telemetry.instruments import PREPARED_ANSWERS
from schemas.telemetry.spans import note

Versions = Mapping[str, PinnedVersion]
"""The version of each table, by its name."""


class Source(Struct, frozen=True):
    """Where the rows of one query come from; all its statements share the time until a deadline."""

    versions: Versions
    engine: Engine
    deadline: float
    """In the time of the event loop."""
    results: PreparedResults | None = None
    """Prepared results, where there are any."""
    work: Work = Work.QUERIES
    reported_engine: str | UnsetType = UNSET
    """The name of the engine in responses, where there are several."""

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    async def rows(self, sql: Sql) -> list[Row]:
        """The rows that the engine gives for a statement."""
        return await self.engine.rows(sql, self.seconds_left)

    async def prepared_rows(
        self,
        rollup_plan: RollupPlan,
        query: Query,
        scope: Scope,
        granularity: Granularity = Granularity.DAILY,
    ) -> Sequence[Row]:
        """All rows of a plan from prepared results; NotPrepared says why there are none."""
        return await rows_of_form(
            self.results,
            rollup_plan,
            query,
            scope,
            self.engine,
            self.seconds_left,
            granularity,
            self.work,
        )

    def remembering(self, query: Query) -> "Source":
        """The same, of which prepared results remember the rows that SQL gives."""
        if self.results is None or reads_stored_rows(query):
            return self
        return structs.replace(self, engine=self.results.remembering(self.engine))


class Page(Struct, frozen=True):
    """The rows of one page and the number of rows on all pages."""

    rows: Sequence[Any]
    total: int
    positions: Sequence[int] = ()
    """Position of each row among those of all pages before sorting, from 0."""
    prepared: bool = False
    """Whether the rows come from prepared results."""


class BoundPlan(Protocol):
    """A plan with its source; ApiError for what the request cannot have."""

    @property
    def source(self) -> Source:
        """Where its rows come from."""

    @property
    def rollup_plan(self) -> RollupPlan | None:
        """How the rows are made from prepared results; None when they cannot be."""

    @property
    def time_range(self) -> TimeRange:
        """The time range of the result."""

    @property
    def bucket(self) -> Granularity | None:
        """The width of the buckets of time that rows begin with."""

    @property
    def scope(self) -> Scope:
        """The rows of its first table that the query may see."""

    @property
    def further(self) -> Sequence[FurtherStatement]:
        """What runs besides the statement, and depends on rows."""

    async def prepared_rows(self) -> Sequence[Row]:
        """The rows of all pages from prepared results; NotPrepared says why there are none."""

    async def page_of(self, rows: Sequence[Row]) -> Page:
        """One page of all rows."""

    async def stored_page(self) -> Page:
        """One page from stored rows."""

    async def compare(self, page: Page) -> Comparison:
        """The rows of a page beside those of the other time range."""

    async def warnings(self) -> Sequence[ResultWarning]:
        """What the numbers of the result leave out or cannot show."""

    async def page_sql(self) -> Sql:
        """The statement that gives a page from stored rows."""


class Plan(Protocol):
    """One parsed query."""

    @property
    def query(self) -> Query:
        """Subject, time range, filters, page and comparison."""

    @property
    def name(self) -> str:
        """Its name in metrics and spans."""

    @property
    def tables(self) -> Sequence[Table]:
        """The tables that it reads, its own first."""

    @property
    def in_custom_pool(self) -> bool:
        """Whether it runs beside custom queries, which may take longer."""

    @property
    def live_table(self) -> Table | None:
        """The table whose newest rows it watches: small batches are stored sooner meanwhile."""

    def bind(self, source: Source) -> BoundPlan:
        """The plan with its source; ApiError when the request is wrong."""


class QueryResult(Struct, frozen=True):
    """The result of one query, with what is said of it."""

    page: Page
    comparison: Comparison | None = None
    partial_bucket: str | UnsetType | None = UNSET
    """Label of the bucket that can still grow, in a result by time."""
    annotations: Sequence[SeriesAnnotation] = ()
    """Of the website, in a result by time."""
    warnings: Sequence[ResultWarning] = ()
    engine: str | UnsetType = UNSET
    """The name of the engine, where there are several."""


async def read_page(bound: BoundPlan) -> Page:
    """One page: from prepared results where they answer the query, else from stored rows."""
    with suppress(NotPrepared):
        rows = await bound.prepared_rows()
        note({"tidemark.prepared": True})
        PREPARED_ANSWERS.labels("prepared").inc()
        return structs.replace(await bound.page_of(rows), prepared=True)
    if bound.rollup_plan is not None:
        PREPARED_ANSWERS.labels("rows").inc()
    return await bound.stored_page()
