"""Details: the lists inside the rows of an answer, from one further question for all of them."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct, structs

from query.engine.engine import Engine, Row, Sql, joined
from query.response.worker_threads import aside
from query.scope.scope import Scope
from query.standard.declaration.query_type import Detail, Statement, forms, shaped
from query.standard.statement import whole


async def added(
    engine: Engine, detail: Detail, scope: Scope, answer: Sequence[Struct], seconds: float
) -> list[Struct]:
    """The rows with the list of each."""
    names = {value: None for row in answer if (value := getattr(row, detail.key[0])) is not None}
    if not names:
        return list(answer)
    every = {each.table.name: each for each in (*scope.beside, scope)}
    narrowed = narrow(every[detail.table.name], detail.by, list(names))
    statement = Statement(sql=detail.sql, given=detail.given)
    rows = await engine.rows(await whole(engine, narrowed, statement), seconds)
    return await aside(len(rows) + len(answer), partial(_filled, detail, answer, rows))


def _filled(detail: Detail, answer: Sequence[Struct], rows: Sequence[Row]) -> list[Struct]:
    width = len(detail.key)
    lists: dict[tuple[object, ...], list[object]] = {}
    for row in rows:
        lists.setdefault(tuple(row[:width]), []).append(_element(detail, row[width:]))
    keys = (tuple(getattr(row, name) for name in detail.key) for row in answer)
    return [
        structs.replace(row, **{detail.field: lists.get(key, [])})
        for row, key in zip(answer, keys, strict=True)
    ]


def _element(detail: Detail, values: Row) -> object:
    return shaped(detail.row, values, forms(detail.row)) if detail.row else values[0]


def narrow(scope: Scope, column: str, values: Sequence[object], prefix: str = "one") -> Scope:
    """The scope, of these values of a column only."""
    bound = {f"{prefix}_{i}": value for i, value in enumerate(values)}
    among = ", ".join(f"${name}" for name in bound)
    where = Sql(
        f"{scope.where.text}\n AND {column} IN ({among})", joined(scope.where.values, bound)
    )
    return structs.replace(scope, where=where, beside=())
