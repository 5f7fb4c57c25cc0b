"""Compiles a validated custom query to SQL; outputs are named by their position."""

from collections.abc import Mapping, Sequence

from query.custom.session_table import PREFIX, sessions
from query.custom.tables import CustomColumn, CustomTable
from query.custom.validation import SelectedValue, ValidatedQuery
from query.engine.engine import Engine, Sql
from query.request.date_parts import date_part_sql
from query.request.property_path import MAX_SUMMED, is_property
from query.scope.path_columns import PATH_COLUMN_NAMES
from query.scope.scope import Scope, scoped_rows
from query.scope.visitor_facts import VISITOR_FACT_COLUMNS
from query.scope.visits import BY_COLUMN
from query.sql.aggregates import ResultType
from query.sql.fragment import Fragment, merge_values
from query.sql.portable import names_in
from query.sql.select import ResultForm, Select, render
from schemas.tables import ColumnType

HASH_COLUMNS = {"anonymous_id": "visitor_hash", "session_id": "session_hash"}
"""Ids counted by their hash: the same result, several times as fast."""


async def compile_query(
    engine: Engine,
    plan: ValidatedQuery,
    scope: Scope,
    form: ResultForm,
    values: Mapping[str, object],
) -> Sql:
    """The statement for one form of the result, with the bound values of that form.

    `scope` carries the filters of a stored table.
    """
    outputs = _outputs(plan, scope)
    text = ",\n".join(f"{value.text} AS o{i}" for i, value in enumerate(outputs))
    output_names = frozenset[str]().union(*(names_in(value.text) for value in outputs))
    if plan.table.is_computed:
        used = output_names | names_in(plan.where.text)
        scoped = await sessions(engine, scope, {name.removeprefix(PREFIX) for name in used})
        source, where = "sessions", plan.where
    else:
        scoped = await scoped_rows(engine, scope, _stored_columns(plan, output_names))
        source, where = "scoped", Fragment()
    select = Select(
        relations=scoped.relations,
        body=f"SELECT {text} FROM {source}{_where(where)}{_grouping(plan)}",  # noqa: S608
        form=form,
    )
    bound = [value.values for value in (*outputs, where)]
    return Sql(render(select, engine.dialect), merge_values(scoped.values, *bound, values))


def _outputs(plan: ValidatedQuery, scope: Scope) -> Sequence[Fragment]:
    """The groups, then the values."""
    groups = [_group(plan, group, scope) for group in plan.groups]
    return [*groups, *(_value(plan.table, select) for select in plan.selects)]


def _where(condition: Fragment) -> str:
    return f" WHERE {condition.text}" if condition.text else ""


def _group(plan: ValidatedQuery, group: CustomColumn, scope: Scope) -> Fragment:
    ms = f"UNIX_MS({plan.table.time})"
    if group.granularity is not None:
        return scope.time_range.bucket_sql(ms, group.granularity)
    if group.date_part is not None:
        return date_part_sql(ms, scope.time_range, group.date_part).with_prefix(f"{group.name}_")
    return Fragment(group.ms_sql(group.sql), group.values)


def _value(table: CustomTable, select: SelectedValue) -> Fragment:
    column, aggregate = select.column, select.aggregate
    if column is None:
        return Fragment("COUNT(*)")
    sql = column.sql
    if aggregate.name == "uniq" and table.table.column(HASH_COLUMNS.get(sql, "")):
        sql = HASH_COLUMNS[sql]
    if column.type is ColumnType.BOOLEAN and aggregate.is_arithmetic:
        sql = f"CAST({sql} AS INTEGER)"
    value = aggregate.sql.format(column=sql)
    if is_property(column.name) and aggregate.is_arithmetic:
        value += f" FILTER (WHERE {sql} BETWEEN -{MAX_SUMMED} AND {MAX_SUMMED})"
    output = column.ms_sql(value) if aggregate.result is ResultType.SAME else value
    return Fragment(output, column.values)


def _stored_columns(plan: ValidatedQuery, used: frozenset[str]) -> Sequence[str]:
    own = (column.name for column in plan.table.table.columns)
    known = (*own, *BY_COLUMN, *VISITOR_FACT_COLUMNS, *PATH_COLUMN_NAMES)
    return [name for name in known if name in used]


def _grouping(plan: ValidatedQuery) -> str:
    positions = ", ".join(str(i + 1) for i in range(len(plan.groups)))
    return f" GROUP BY {positions}" if positions else ""
