"""Explains queries: SQL, tables, engine, and whether prepared results answer them.

Data files hold rows of all tenants, so neither their number nor their size is shown, only the rows
of the subject itself.
"""

import asyncio
from datetime import datetime
from decimal import Decimal

from msgspec import UNSET, Struct, UnsetType, field, structs

from query.engine.engine import Engine, Sql
from query.engine.snapshots import PinnedVersion
from query.prepared.not_prepared import NotPrepared
from query.request.time_range import TimeRange
from query.response.compiled_bodies import FurtherStatement, TableScan
from query.run.plan import BoundPlan, Plan
from query.scope.scope import Scope, scoped_rows
from query.sql.fragment import Fragment
from query.sql.select import Select, render
from schemas.runtime.clock import format_instant, parse_instant_ms
from schemas.tables import Table

FILES_PARAMETER = "parts"
"""The end of the names of bound values with the paths of data files."""


class Explanation(Struct, frozen=True):
    """What one query would do."""

    sql: str
    values: dict[str, object]
    tables: list[TableScan]
    prepared: bool
    further: list[FurtherStatement] | UnsetType
    engine: str | UnsetType
    reason: str | UnsetType
    """Why prepared results do not answer it."""


class Explainer(Struct, frozen=True):
    """Explains the queries of one request; the rows of a table are counted once."""

    counted: dict[tuple[Table, int, TimeRange], int] = field(default_factory=dict)
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def explain(self, plan: Plan, bound: BoundPlan) -> Explanation:
        """What a query would do: the step of its journey in place of running it.

        Prepared results are asked for the rows, as by the query: what is joined stays in memory.
        """
        sql, reason = await bound.page_sql(), ""
        try:
            await bound.prepared_rows()
        except NotPrepared as error:
            reason = str(error)
        further = [name for name in bound.further if name != "stored_columns" or not reason]
        return Explanation(
            sql.text,
            shown_values(sql),
            [await self._scan(bound, table) for table in plan.tables],
            not reason,
            further or UNSET,
            bound.source.reported_engine,
            reason or UNSET,
        )

    async def _scan(self, bound: BoundPlan, table: Table) -> TableScan:
        source, scope = bound.source, bound.scope
        pinned = source.versions[table.name]
        key = (table, pinned.version.number, scope.time_range)
        async with self.counting:
            if key not in self.counted:
                if table is not scope.table:
                    scope = structs.replace(scope, subject_column=table.subject_column)
                self.counted[key] = await subject_rows(
                    source.engine, scope, pinned, source.seconds_left
                )
        return TableScan(table.name, pinned.version.number, self.counted[key])


async def subject_rows(engine: Engine, scope: Scope, pinned: PinnedVersion, seconds: float) -> int:
    """Rows of the subject in the time range in that version, before any filter."""
    everything = structs.replace(
        scope,
        pinned=pinned,
        where=Fragment(),
        visit_where=Fragment(),
        later=Fragment(),
        include_bots=True,
        by_profile=False,
        names_person=False,
    )
    scoped = await scoped_rows(engine, everything, [])
    count = Select(relations=scoped.relations, body="SELECT COUNT(*) FROM scoped")
    [(rows,)] = await engine.rows(Sql(render(count, engine.dialect), scoped.values), seconds)
    return int(rows)


def shown_values(sql: Sql) -> dict[str, object]:
    """The bound values as JSON, without the paths of data files."""
    return {
        name: _shown(value)
        for name, value in sql.values.items()
        if name.split("_")[-1] != FILES_PARAMETER
    }


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(element) for element in value]
    if isinstance(value, datetime):
        return format_instant(parse_instant_ms(value.isoformat()))
    return float(value) if isinstance(value, Decimal) else value
