"""Puts the relations that a question may see in front of its SQL: the whole statement."""

import re
from collections.abc import Mapping

from msgspec import structs

from query.engine.engine import Engine, Sql, joined
from query.scope.scope import ENTRIES, Scope, scoped
from query.standard.declaration.query_type import OF_ENTRY, Statement, named
from schemas.tables import Table

HELD = "held"


async def whole(engine: Engine, scope: Scope, statement: Statement) -> Sql:
    """The statement behind a WITH of all that it names."""
    words = statement.words
    relations = {"scoped": await scoped(engine, scope, named(scope.table, words))}
    if HELD in words:
        unfiltered = structs.replace(scope, where=Sql(""))
        base = await scoped(engine, unfiltered, named(scope.table, words))
        relations[HELD] = apart(base, HELD)
    if ENTRIES in words:
        relations[ENTRIES] = Sql(engine.entries("scoped", OF_ENTRY))
    for other in scope.beside:
        name = beside(other.table)
        if name in words:
            relations[name] = apart(await scoped(engine, other, named(other.table, words)), name)
    return Sql(
        f"WITH {_listed(relations, statement)}\n{statement.sql}",
        joined(*(relation.values for relation in relations.values()), statement.values),
    )


def beside(table: Table) -> str:
    """What the rows of another table are called."""
    return f"scoped_{table.name}"


def apart(sql: Sql, prefix: str) -> Sql:
    """The same with other names for its values, so that it may stand beside another."""
    text = re.sub(r"\$(\w+)", rf"${prefix}_\1", sql.text)
    return Sql(text, {f"{prefix}_{name}": value for name, value in sql.values.items()})


def _listed(relations: Mapping[str, Sql], statement: Statement) -> str:
    kept = "AS NOT MATERIALIZED" if statement.afresh else "AS"
    held = [f"{name} {kept} (\n{each.text}\n)" for name, each in relations.items()]
    return ",\n".join([*held, *(f"{cte.name} AS ({cte.sql})" for cte in statement.given)])
