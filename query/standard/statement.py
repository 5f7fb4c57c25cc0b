"""Builds the whole SQL of a statement: the relations that it names as CTEs in front of it."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import structs

from query.engine.engine import Engine, Sql
from query.response.worker_threads import run_in_worker
from query.scope.profiles import PROFILES
from query.scope.scope import (
    PROPERTY_ENTRIES,
    SCOPED,
    Scope,
    WantedRelation,
    scoped_relations,
)
from query.scope.session_rows import session_rows
from query.sql.fragment import Fragment, merge_values
from query.sql.select import Cte, NativeCte, Relation, Select, render
from query.standard.declaration.statement import (
    ENTRY_COLUMNS,
    Statement,
    columns_used,
    table_cte_name,
    unfiltered_cte_name,
)

TEXT_PER_ROW = 20
"""Characters that take as long to parse as a row takes to encode: long texts go to a thread."""
VISIT_ROWS = "visit_rows"
"""All rows of the visits that have a row in `scoped`: metrics of visits read it."""
READ_FROM_SCOPED = (SCOPED, VISIT_ROWS, PROPERTY_ENTRIES)
"""The relation with the rows of the scope, and those that are computed from it."""
OF_MATCHING_VISITS = f"session_hash IN (SELECT session_hash FROM {SCOPED})"  # noqa: S608


async def build_statement(
    engine: Engine,
    scope: Scope,
    statement: Statement,
    other_scopes: Mapping[str, Scope] | None = None,
) -> Sql:
    """The statement with a CTE for each relation that it names."""
    size = sum(map(len, (statement.sql, *(cte.sql for cte in statement.ctes)))) // TEXT_PER_ROW
    read = await run_in_worker(size, lambda: statement.read)
    names = read.names
    longest = statement.unfiltered_range(scope.time_range)
    if longest != scope.time_range:
        scope = structs.replace(scope, fact_range=longest)
    of_sessions = session_rows(engine, scope, names, VISIT_ROWS)
    names |= of_sessions.names
    tables = {table_cte_name(other.table) for other in (other_scopes or {}).values()}
    reads_others = not names.isdisjoint(tables) and names.isdisjoint(READ_FROM_SCOPED)
    scopes = {} if reads_others else {SCOPED: scope}
    if VISIT_ROWS in names and scope.where.text:
        scopes[VISIT_ROWS] = structs.replace(scope, where=Fragment(OF_MATCHING_VISITS))
    for other in (other_scopes or {}).values():
        if (name := table_cte_name(other.table)) in names:
            scopes[name] = other
        if (name := unfiltered_cte_name(other.table)) in names:
            nothing, longer = Fragment(), statement.unfiltered_range(other.time_range)
            scopes[name] = structs.replace(
                other, where=nothing, visit_where=nothing, time_range=longer
            )
    scoped = await scoped_relations(
        engine,
        {
            **{n: WantedRelation(one, columns_used(one.table, names)) for n, one in scopes.items()},
            **of_sessions.sources,
        },
        read.facts,
        PROFILES in names,
        statement.visits_cte,
    )
    relations: list[Relation | NativeCte | Cte] = list(scoped.relations)
    if VISIT_ROWS in names and VISIT_ROWS not in scopes:
        relations.append(Cte(VISIT_ROWS, f"SELECT * FROM {SCOPED}"))  # noqa: S608
    relations += of_sessions.ctes
    if PROPERTY_ENTRIES in names:
        entries = engine.property_entries(SCOPED, ENTRY_COLUMNS)
        relations.append(NativeCte(PROPERTY_ENTRIES, entries))
    first, others = _ctes_around_visits(statement)
    select = Select(
        relations=(*relations, *first, *scoped.of_visits),
        ctes=others,
        body=statement.sql,
        form=statement.form,
        inlined=statement.inlined,
    )
    text = await run_in_worker(size, partial(render, select, engine.dialect))
    return Sql(text, merge_values(scoped.values, statement.values))


def _ctes_around_visits(statement: Statement) -> tuple[Sequence[Cte], tuple[Cte, ...]]:
    """The CTEs of the statement up to that of its visits, and those after it."""
    names = [cte.name for cte in statement.ctes]
    first = names.index(statement.visits_cte) + 1 if statement.visits_cte else 0
    return statement.ctes[:first], statement.ctes[first:]
