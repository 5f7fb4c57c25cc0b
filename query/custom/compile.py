"""Compiles a checked query to SQL from our own words; outputs are called by their position."""

from collections.abc import Sequence

from query.custom.aggregates import Gives
from query.custom.check import Chosen, Plan, Sorted
from query.custom.sessions import PREFIX, needed, sessions, words
from query.custom.tables import CustomColumn, CustomTable
from query.engine import Engine, Sql, joined
from query.scoped import Scope, scoped
from schemas.tables import Type

HASHES = {"anonymous_id": "visitor_hash", "session_id": "session_hash"}
"""Ids that are counted by their hash: the same number, several times as fast."""


async def compiled(engine: Engine, plan: Plan, scope: Scope, limit: int) -> Sql:
    """The whole statement; `scope` carries the filters of a stored table."""
    body = _body(engine, plan)
    if plan.table.live:
        used = {n.removeprefix(PREFIX) for n in words(f"{body} {plan.where.text}")}
        base = await scoped(engine, scope, needed(used))
        relation = f",\n{sessions(used)}"
        source, where = "sessions", f"\n WHERE TRUE{plan.where.text}"
        values = joined(base.values, plan.where.values)
    else:
        base = await scoped(engine, scope, _stored(plan, body))
        relation, source, where, values = "", "scoped", "", dict(base.values)
    text = (
        f"WITH scoped AS (\n{base.text}\n){relation}\n"
        f"SELECT {body}\n  FROM {source}{where}{_grouping(plan)}\n"
        f" ORDER BY {_ordering(plan.order)}\n LIMIT $limit"
    )
    return Sql(text, joined(values, {"limit": limit}))


def _body(engine: Engine, plan: Plan) -> str:
    groups = [_shown(engine, group, group.sql) for group in plan.groups]
    values = [_value(engine, plan.table, each) for each in plan.selects]
    return ",\n".join(f"{value} AS o{i}" for i, value in enumerate([*groups, *values]))


def _value(engine: Engine, table: CustomTable, chosen: Chosen) -> str:
    column, aggregate = chosen.column, chosen.aggregate
    if column is None:
        return "COUNT(*)"
    sql = column.sql
    if aggregate.name == "uniq" and table.stored.column(HASHES.get(sql, "")):
        sql = HASHES[sql]
    value = aggregate.sql.format(column=sql)
    return _shown(engine, column, value) if aggregate.gives is Gives.SAME else value


def _shown(engine: Engine, column: CustomColumn, sql: str) -> str:
    return engine.unix_ms(sql) if column.type is Type.TIMESTAMP else sql


def _stored(plan: Plan, body: str) -> Sequence[str]:
    used = words(body)
    return [column.name for column in plan.table.stored.columns if column.name in used]


def _grouping(plan: Plan) -> str:
    return f"\n GROUP BY {', '.join(group.sql for group in plan.groups)}" if plan.groups else ""


def _ordering(order: Sequence[Sorted]) -> str:
    return ", ".join(
        f"o{term.position} {'DESC' if term.descending else 'ASC'} NULLS LAST" for term in order
    )
