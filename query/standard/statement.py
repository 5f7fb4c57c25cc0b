"""Puts the relations that a question may see in front of its SQL: the whole statement."""

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

UNFILTERED = "held"


async def build_statement(engine: Engine, scope: Scope, statement: Statement) -> Sql:
    """The statement behind a WITH of all that it names."""
    words = statement.identifiers
    relations = {"scoped": await scoped_rows(engine, scope, columns_used(scope.table, words))}
    if UNFILTERED in words:
        unfiltered = structs.replace(scope, where=Sql(""))
        base = await scoped_rows(engine, unfiltered, columns_used(scope.table, words))
        relations[UNFILTERED] = prefix_values(base, UNFILTERED)
    if PROPERTY_ENTRIES in words:
        relations[PROPERTY_ENTRIES] = Sql(engine.property_entries("scoped", ENTRY_COLUMNS))
    for other in scope.other_tables:
        name = table_cte_name(other.table)
        if name in words:
            relations[name] = prefix_values(
                await scoped_rows(engine, other, columns_used(other.table, words)), name
            )
    return Sql(
        f"WITH {_listed(relations, statement)}\n{statement.sql}",
        merge_values(*(relation.values for relation in relations.values()), statement.values),
    )


def prefix_values(sql: Sql, prefix: str) -> Sql:
    """The same with other names for its values, so that it may stand beside another."""
    text = re.sub(r"\$(\w+)", rf"${prefix}_\1", sql.text)
    return Sql(text, {f"{prefix}_{name}": value for name, value in sql.values.items()})


def _listed(relations: Mapping[str, Sql], statement: Statement) -> str:
    kept = "AS NOT MATERIALIZED" if statement.not_materialized else "AS"
    held = [f"{name} {kept} (\n{each.text}\n)" for name, each in relations.items()]
    return ",\n".join([*held, *(f"{cte.name} AS ({cte.sql})" for cte in statement.ctes)])
