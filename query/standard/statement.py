"""Builds the whole SQL of a statement: the relations that it names as CTEs in front of it."""

from collections.abc import Mapping

from msgspec import structs

from query.engine.engine import Engine, Sql
from query.scope.scope import PROPERTY_ENTRIES, SCOPED, Scope, scoped_relation
from query.sql.fragment import Fragment, merge_values
from query.sql.select import NativeCte, Relation, Select, render
from query.standard.declaration.statement import (
    ENTRY_COLUMNS,
    Statement,
    columns_used,
    table_cte_name,
)

UNFILTERED = "unfiltered"


async def build_statement(
    engine: Engine,
    scope: Scope,
    statement: Statement,
    other_scopes: Mapping[str, Scope] | None = None,
) -> Sql:
    """The statement with a CTE for each relation that it names."""
    names = statement.names
    scopes = {SCOPED: scope}
    if UNFILTERED in names:
        scopes[UNFILTERED] = structs.replace(scope, where=Fragment())
    for other in (other_scopes or {}).values():
        if (name := table_cte_name(other.table)) in names:
            scopes[name] = other
    scoped = [
        await scoped_relation(engine, one, columns_used(one.table, names), name)
        for name, one in scopes.items()
    ]
    relations: list[Relation | NativeCte] = [one.relation for one in scoped]
    if PROPERTY_ENTRIES in names:
        entries = engine.property_entries(SCOPED, ENTRY_COLUMNS)
        relations.append(NativeCte(PROPERTY_ENTRIES, entries))
    select = Select(
        relations=tuple(relations),
        ctes=statement.ctes,
        body=statement.sql,
        form=statement.form,
        inlined=statement.inlined,
    )
    values = merge_values(*(one.values for one in scoped), statement.values)
    return Sql(render(select, engine.dialect), values)
