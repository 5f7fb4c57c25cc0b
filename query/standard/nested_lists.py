"""Details: the lists inside the rows of an answer, from one further question for all of them."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import Engine, Row, Sql, merge_values
from query.response.worker_threads import run_in_worker
from query.scope.scope import Scope
from query.standard.declaration.fields import field_specs, to_row
from query.standard.declaration.listing import NestedList
from query.standard.declaration.statement import Statement
from query.standard.statement import build_statement


async def fill_nested_lists(
    engine: Engine, detail: NestedList, scope: Scope, answer: Sequence[Struct], seconds: float
) -> list[Struct]:
    """The rows with the list of each."""
    names = {value: None for row in answer if (value := getattr(row, detail.key[0])) is not None}
    if not names:
        return list(answer)
    every = {each.table.name: each for each in (*scope.other_tables, scope)}
    narrowed = narrow_scope(every[detail.table.name], detail.filter_column, list(names))
    statement = Statement(sql=detail.sql, ctes=detail.ctes)
    rows = await engine.rows(await build_statement(engine, narrowed, statement), seconds)
    return await run_in_worker(len(rows) + len(answer), partial(_with_lists, detail, answer, rows))


def _with_lists(detail: NestedList, answer: Sequence[Struct], rows: Sequence[Row]) -> list[Struct]:
    width = len(detail.key)
    lists: dict[tuple[object, ...], list[object]] = {}
    for row in rows:
        lists.setdefault(tuple(row[:width]), []).append(_element(detail, row[width:]))
    keys = (tuple(getattr(row, name) for name in detail.key) for row in answer)
    return [
        structs.replace(row, **{detail.field: lists.get(key, [])})
        for row, key in zip(answer, keys, strict=True)
    ]


def _element(detail: NestedList, values: Row) -> object:
    return to_row(detail.row, values, field_specs(detail.row)) if detail.row else values[0]


def narrow_scope(scope: Scope, column: str, values: Sequence[object], prefix: str = "one") -> Scope:
    """The scope, of these values of a column only."""
    bound = {f"{prefix}_{i}": value for i, value in enumerate(values)}
    among = ", ".join(f"${name}" for name in bound)
    where = Sql(
        f"{scope.where.text}\n AND {column} IN ({among})", merge_values(scope.where.values, bound)
    )
    return structs.replace(scope, where=where, other_tables=())
