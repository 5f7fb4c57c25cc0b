"""Lists inside rows, filled by one further query for all rows of the page."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import Engine, Row
from query.request.operators import BY_NAME
from query.response.worker_threads import run_in_worker
from query.scope.row_scope import of_whole_visits
from query.scope.scope import Scope
from query.sql.fragment import Fragment, all_of
from query.standard.declaration.fields import field_specs, to_row
from query.standard.declaration.listing import NestedList
from query.standard.declaration.statement import Statement
from query.standard.statement import build_statement


async def fill_nested_lists(
    engine: Engine,
    nested: NestedList,
    scopes: Mapping[str, Scope],
    rows: Sequence[Struct],
    seconds: float,
) -> list[Struct]:
    """The rows with the nested list of each."""
    keys = {key: None for row in rows if (key := getattr(row, nested.key[0])) is not None}
    if not keys:
        return list(rows)
    scope = scopes[nested.table.name]
    if nested.of_whole_visits:
        scope = of_whole_visits(scope)
    narrowed = structs.replace(
        scope, where=all_of(scope.where, among(nested.filter_column, list(keys), "elements"))
    )
    statement = Statement(sql=nested.sql, ctes=nested.ctes)
    elements = await engine.rows(await build_statement(engine, narrowed, statement), seconds)
    return await run_in_worker(
        len(elements) + len(rows), partial(_with_lists, nested, rows, elements)
    )


def _with_lists(
    nested: NestedList, rows: Sequence[Struct], elements: Sequence[Row]
) -> list[Struct]:
    width = len(nested.key)
    lists: dict[tuple[object, ...], list[object]] = {}
    for columns in elements:
        lists.setdefault(tuple(columns[:width]), []).append(_element(nested, columns[width:]))
    keys = (tuple(getattr(row, name) for name in nested.key) for row in rows)
    return [
        structs.replace(row, **{nested.field: lists.get(key, [])})
        for row, key in zip(rows, keys, strict=True)
    ]


def _element(nested: NestedList, columns: Row) -> object:
    return to_row(nested.row, columns, field_specs(nested.row)) if nested.row else columns[0]


def among(column: str, values: Sequence[object], name: str) -> Fragment:
    """The condition that a column has one of these values; `name` is that of the bound list."""
    text = BY_NAME["in"].sql_for(len(values)).format(column=column, value=f"${name}")
    return Fragment(text, {name: list(values)})
