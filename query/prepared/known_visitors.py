"""Visitors seen before a time range, for plans that count new visitors.

They come from stored rows, and from what the keeper derived from their data files
(`schemas/tables/visitors.py`); they stay in memory for the next query of the same data files.
"""

import numpy as np
from msgspec import Struct, structs

from query.engine.bounded_fetch import too_large
from query.engine.column_rows import Numbers
from query.engine.engine import ColumnEngine, Sql
from query.prepared.result_cache import ByteCache, digest
from query.prepared.rollup_view import NOBODY
from query.prepared.store import MAX_ROWS
from query.request.time_range import TimeRange
from query.scope.prepared_files import prepared_scopes
from query.scope.row_scope import Scope, events_scope
from query.scope.scope import WantedRelation, scoped_relations
from query.scope.visitor_sets import FIRST_MS, VISITOR
from query.scope.visitor_times import PREPARED_VISITORS, VISITOR_EVENTS
from query.sql.select import Select, render
from schemas.tables import VISITORS


class KnownVisitors(Struct, frozen=True):
    """The events before the time range of a query."""

    scope: Scope

    @property
    def key(self) -> tuple[object, ...]:
        """What is read, for caches of what comes of it."""
        paths = [file.path for file in self.scope.data_files]
        return ("earlier", digest(self.scope.subjects, self.scope.time_range.end_ms, paths))

    async def hashes(self, engine: ColumnEngine, memory: ByteCache, seconds: float) -> Numbers:
        """The hashes of their visitors in ascending order; ResultTooLarge for very many."""
        if not self.scope.data_files:
            return NOBODY
        known: Numbers | None = memory.get(self.key)
        if known is not None:
            return known
        rows = await engine.table(await self._statement(engine), seconds)
        if rows.count > MAX_ROWS:
            raise too_large()
        hashes = np.sort(rows.numbers["visitor"])
        memory.put(self.key, hashes, hashes.nbytes)
        return hashes

    async def _statement(self, engine: ColumnEngine) -> Sql:
        found = prepared_scopes(engine, self.scope, VISITORS)
        scopes = {PREPARED_VISITORS: found.prepared, VISITOR_EVENTS: found.unprepared}
        wanted = {name: WantedRelation(each, [VISITOR]) for name, each in scopes.items() if each}
        relations = await scoped_relations(engine, wanted)
        union = " UNION ALL ".join(f"SELECT {VISITOR} FROM {name}" for name in wanted)  # noqa: S608
        body = f"""
            SELECT DISTINCT {VISITOR} AS visitor
              FROM ({union}) AS earlier
             WHERE {VISITOR} IS NOT NULL
             LIMIT {MAX_ROWS + 1}
        """  # noqa: S608
        select = Select(relations=relations.relations, body=body)
        return Sql(render(select, engine.dialect), relations.values)


def known_visitors(scope: Scope) -> KnownVisitors:
    """Those before the rows that a scope reads, whatever its conditions are."""
    time_range = scope.time_range
    before = TimeRange(FIRST_MS, max(FIRST_MS, time_range.start_ms), time_range.zone)
    return KnownVisitors(structs.replace(events_scope(scope), time_range=before))


def are_among(hashes: Numbers, earlier: Numbers) -> Numbers:
    """Whether each hash is one of those before, of which there are some."""
    at = np.minimum(np.searchsorted(earlier, hashes), len(earlier) - 1)
    found: Numbers = earlier[at] == hashes
    return found
