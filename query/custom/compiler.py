"""Compiles a validated custom query to SQL; outputs are named by their position."""

from collections.abc import Sequence

from query.custom.aggregates import NUMBER_TYPES, ResultType
from query.custom.session_table import PREFIX, event_columns, identifiers, sessions_cte
from query.custom.tables import CustomColumn, CustomTable
from query.custom.validation import SelectedValue, SortTerm, ValidatedQuery
from query.engine.engine import Engine, Sql, merge_values
from query.request.property_path import is_property
from query.scope.scope import Scope, scoped_rows
from schemas.tables import ColumnType

HASH_COLUMNS = {"anonymous_id": "visitor_hash", "session_id": "session_hash"}
"""Ids counted by their hash: the same result, several times as fast."""

MAX_SUMMED = "1e100"
"""The largest property value that enters sums, means and quantiles.

Anybody may send 1e308, and two of them overflow: one visitor could break the result for everyone.
Up to this limit any number of rows has a sum.
"""

COUNT = "SELECT COUNT(*)\n  FROM answer"


async def compile_page(
    engine: Engine, plan: ValidatedQuery, scope: Scope, limit: int, offset: int = 0
) -> Sql:
    """The statement for one page; the last column is the number of rows of all pages.

    `scope` carries the filters of a stored table.
    """
    having = f" WHERE TRUE{plan.having.text}\n" if plan.having.text else ""
    page = (
        f"SELECT answer.*,\n       COUNT(*) OVER () AS total_rows\n  FROM answer\n{having}"  # noqa: S608
        f" ORDER BY {_ordering(plan.order)}\n LIMIT $limit OFFSET $offset"
    )
    base = await _result_cte(engine, plan, scope)
    values = merge_values(base.values, plan.having.values, {"limit": limit, "offset": offset})
    return Sql(f"{base.text}\n{page}", values)


async def compile_count(engine: Engine, plan: ValidatedQuery, scope: Scope) -> Sql:
    """The statement that counts the rows of all pages."""
    base = await _result_cte(engine, plan, scope)
    having = f"\n WHERE TRUE{plan.having.text}" if plan.having.text else ""
    return Sql(f"{base.text}\n{COUNT}{having}", merge_values(base.values, plan.having.values))


async def _result_cte(engine: Engine, plan: ValidatedQuery, scope: Scope) -> Sql:
    """The CTEs of both statements, up to `answer`."""
    body = _body(engine, plan, scope)
    used = identifiers(body.text)
    if plan.table.is_computed:
        names = {name.removeprefix(PREFIX) for name in used | identifiers(plan.where.text)}
        base = await scoped_rows(engine, scope, event_columns(names))
        relation, source = f",\n{sessions_cte(names)}", "sessions"
        where, filtered = f"\n WHERE TRUE{plan.where.text}", plan.where.values
    else:
        base = await scoped_rows(engine, scope, _stored_columns(plan, used))
        relation, source, where, filtered = "", "scoped", "", {}
    text = (
        f"WITH scoped AS (\n{base.text}\n){relation},\n"
        f"answer AS (\nSELECT {body.text}\n  FROM {source}{where}{_grouping(plan)}\n)"
    )
    return Sql(text, merge_values(base.values, filtered, body.values))


def _body(engine: Engine, plan: ValidatedQuery, scope: Scope) -> Sql:
    groups = [_group(engine, plan, group, scope) for group in plan.groups]
    values = [_value(engine, plan.table, select) for select in plan.selects]
    outputs = [*groups, *values]
    text = ",\n".join(f"{value.text} AS o{i}" for i, value in enumerate(outputs))
    return Sql(text, merge_values(*(value.values for value in outputs)))


def _group(engine: Engine, plan: ValidatedQuery, group: CustomColumn, scope: Scope) -> Sql:
    if group.granularity is not None:
        return scope.time_range.bucket_sql(engine.unix_ms(plan.table.time), group.granularity)
    return Sql(_output_sql(engine, group, group.sql), group.values)


def _value(engine: Engine, table: CustomTable, select: SelectedValue) -> Sql:
    column, aggregate = select.column, select.aggregate
    if column is None:
        return Sql("COUNT(*)")
    sql = column.sql
    if aggregate.name == "uniq" and table.table.column(HASH_COLUMNS.get(sql, "")):
        sql = HASH_COLUMNS[sql]
    value = aggregate.sql.format(column=sql)
    if is_property(column.name) and aggregate.types is NUMBER_TYPES:
        value += f" FILTER (WHERE {sql} BETWEEN -{MAX_SUMMED} AND {MAX_SUMMED})"
    output = _output_sql(engine, column, value) if aggregate.result is ResultType.SAME else value
    return Sql(output, column.values)


def _output_sql(engine: Engine, column: CustomColumn, sql: str) -> str:
    return engine.unix_ms(sql) if column.type is ColumnType.TIMESTAMP else sql


def _stored_columns(plan: ValidatedQuery, used: set[str]) -> Sequence[str]:
    return [column.name for column in plan.table.table.columns if column.name in used]


def _grouping(plan: ValidatedQuery) -> str:
    positions = ", ".join(str(i + 1) for i in range(len(plan.groups)))
    return f"\n GROUP BY {positions}" if positions else ""


def _ordering(order: Sequence[SortTerm]) -> str:
    return ", ".join(
        f"o{term.position} {'DESC' if term.descending else 'ASC'} NULLS LAST" for term in order
    )
