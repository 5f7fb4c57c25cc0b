"""Compiles a checked query to SQL from our own words; outputs are called by their position."""

from collections.abc import Sequence

from query.custom.aggregates import NUMBERS, Gives
from query.custom.session_table import PREFIX, needed, sessions, words
from query.custom.tables import CustomColumn, CustomTable
from query.custom.validation import Chosen, Plan, Sorted
from query.engine.engine import Engine, Sql, joined
from query.request.property_path import is_property
from query.scope.scope import Scope, scoped
from schemas.tables import Type

HASHES = {"anonymous_id": "visitor_hash", "session_id": "session_hash"}
"""Ids that are counted by their hash: the same number, several times as fast."""

MOST_SUMMED = "1e100"
"""The greatest number of a property that sums, means and quantiles are made of.

Anybody may send 1e308, of which two have no sum: one visitor would take the answer from all others.
Of numbers up to this one any number of rows has a sum.
"""

COUNT = "SELECT COUNT(*)\n  FROM answer"


async def compiled(engine: Engine, plan: Plan, scope: Scope, limit: int, offset: int = 0) -> Sql:
    """The statement for one page; a last column says how many rows all pages have.

    `scope` carries the filters of a stored table.
    """
    having = f" WHERE TRUE{plan.having.text}\n" if plan.having.text else ""
    page = (
        f"SELECT answer.*,\n       COUNT(*) OVER () AS total_rows\n  FROM answer\n{having}"  # noqa: S608
        f" ORDER BY {_ordering(plan.order)}\n LIMIT $limit OFFSET $offset"
    )
    base = await _answer(engine, plan, scope)
    values = joined(base.values, plan.having.values, {"limit": limit, "offset": offset})
    return Sql(f"{base.text}\n{page}", values)


async def counted(engine: Engine, plan: Plan, scope: Scope) -> Sql:
    """The statement that counts the rows of all pages."""
    base = await _answer(engine, plan, scope)
    having = f"\n WHERE TRUE{plan.having.text}" if plan.having.text else ""
    return Sql(f"{base.text}\n{COUNT}{having}", joined(base.values, plan.having.values))


async def _answer(engine: Engine, plan: Plan, scope: Scope) -> Sql:
    """How both begin: with the CTE `answer`."""
    body = _body(engine, plan, scope)
    used = words(body.text)
    if plan.table.live:
        names = {name.removeprefix(PREFIX) for name in used | words(plan.where.text)}
        base = await scoped(engine, scope, needed(names))
        relation, source = f",\n{sessions(names)}", "sessions"
        where, filtered = f"\n WHERE TRUE{plan.where.text}", plan.where.values
    else:
        base = await scoped(engine, scope, _stored(plan, used))
        relation, source, where, filtered = "", "scoped", "", {}
    text = (
        f"WITH scoped AS (\n{base.text}\n){relation},\n"
        f"answer AS (\nSELECT {body.text}\n  FROM {source}{where}{_grouping(plan)}\n)"
    )
    return Sql(text, joined(base.values, filtered, body.values))


def _body(engine: Engine, plan: Plan, scope: Scope) -> Sql:
    groups = [_group(engine, plan, group, scope) for group in plan.groups]
    values = [_value(engine, plan.table, each) for each in plan.selects]
    each = [*groups, *values]
    text = ",\n".join(f"{value.text} AS o{i}" for i, value in enumerate(each))
    return Sql(text, joined(*(value.values for value in each)))


def _group(engine: Engine, plan: Plan, group: CustomColumn, scope: Scope) -> Sql:
    if group.granularity is not None:
        return scope.span.bucket(engine.unix_ms(plan.table.time), group.granularity)
    return Sql(_shown(engine, group, group.sql), group.values)


def _value(engine: Engine, table: CustomTable, chosen: Chosen) -> Sql:
    column, aggregate = chosen.column, chosen.aggregate
    if column is None:
        return Sql("COUNT(*)")
    sql = column.sql
    if aggregate.name == "uniq" and table.stored.column(HASHES.get(sql, "")):
        sql = HASHES[sql]
    value = aggregate.sql.format(column=sql)
    if is_property(column.name) and aggregate.fits is NUMBERS:
        value += f" FILTER (WHERE {sql} BETWEEN -{MOST_SUMMED} AND {MOST_SUMMED})"
    shown = _shown(engine, column, value) if aggregate.gives is Gives.SAME else value
    return Sql(shown, column.values)


def _shown(engine: Engine, column: CustomColumn, sql: str) -> str:
    return engine.unix_ms(sql) if column.type is Type.TIMESTAMP else sql


def _stored(plan: Plan, used: set[str]) -> Sequence[str]:
    return [column.name for column in plan.table.stored.columns if column.name in used]


def _grouping(plan: Plan) -> str:
    places = ", ".join(str(i + 1) for i in range(len(plan.groups)))
    return f"\n GROUP BY {places}" if places else ""


def _ordering(order: Sequence[Sorted]) -> str:
    return ", ".join(
        f"o{term.position} {'DESC' if term.descending else 'ASC'} NULLS LAST" for term in order
    )
