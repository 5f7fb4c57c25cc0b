"""Builds the whole SQL of a statement: the relations that it names as CTEs in front of it."""

import re
from collections.abc import Mapping

from msgspec import structs

from query.engine.engine import Engine, Sql, merge_values
from query.scope.scope import PROPERTY_ENTRIES, Scope, scoped_rows
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
    identifiers = statement.identifiers
    relations = {"scoped": await scoped_rows(engine, scope, columns_used(scope.table, identifiers))}
    if UNFILTERED in identifiers:
        unfiltered = structs.replace(scope, where=Sql(""))
        base = await scoped_rows(engine, unfiltered, columns_used(scope.table, identifiers))
        relations[UNFILTERED] = prefix_values(base, UNFILTERED)
    if PROPERTY_ENTRIES in identifiers:
        relations[PROPERTY_ENTRIES] = Sql(engine.property_entries("scoped", ENTRY_COLUMNS))
    for other in (other_scopes or {}).values():
        name = table_cte_name(other.table)
        if name in identifiers:
            relations[name] = prefix_values(
                await scoped_rows(engine, other, columns_used(other.table, identifiers)), name
            )
    return Sql(
        f"WITH {_cte_list(relations, statement)}\n{statement.sql}",
        merge_values(*(relation.values for relation in relations.values()), statement.values),
    )


def prefix_values(sql: Sql, prefix: str) -> Sql:
    """The same SQL with prefixed value names, so that two such pieces fit into one statement."""
    text = re.sub(r"\$(\w+)", rf"${prefix}_\1", sql.text)
    return Sql(text, {f"{prefix}_{name}": value for name, value in sql.values.items()})


def _cte_list(relations: Mapping[str, Sql], statement: Statement) -> str:
    keyword = "AS NOT MATERIALIZED" if statement.not_materialized else "AS"
    relation_ctes = [f"{name} {keyword} (\n{sql.text}\n)" for name, sql in relations.items()]
    own_ctes = [f"{cte.name} AS ({cte.sql})" for cte in statement.ctes]
    return ",\n".join([*relation_ctes, *own_ctes])
