"""Comparison: each row of an answer beside the row that it has in another span.

Points of a series are held against each other by their place in the span, rows with text by that
text, and totals as they are.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from query.request.time_range import SeriesPoint, TimeRange
from query.response.worker_threads import run_in_worker
from query.standard.declaration.fields import PLAIN_FIELD, field_specs
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Cte, requested_range
from query.standard.execute import (
    PageOptions,
    PreparedQuery,
    QueryResult,
    execute,
    with_nested_lists,
)
from schemas.errors import Malformed
from schemas.runtime.clock import format_instant

Shown = Mapping[str, Any]
HUNDREDTH = Decimal("0.01")
ALL_ROWS = PageOptions(limit=10_000)


class ComparedRow(Struct, frozen=True, rename="camel"):
    """What became of one row; percent is null where there was nothing to begin with."""

    previous: Struct | None
    change: Mapping[str, int | float | None]
    change_percent: Mapping[str, float | None]


class Comparison(Struct, frozen=True, rename="camel"):
    """The other span (UTC, its end excluded), and a row for each row of the answer."""

    start: str | None
    end: str | None
    rows: Sequence[ComparedRow]


async def compare(
    work: PreparedQuery, answer: QueryResult, points: Sequence[SeriesPoint]
) -> Comparison:
    """The rows of the answer beside those of the work, which is about the other span.

    `points` are those of the span that was asked for, of a type whose rows begin with one.
    """
    if work.statement.time_range_override is not requested_range:
        raise Malformed(
            f"'compare' does not fit query type '{work.query_type.name}', which looks at a span "
            "of its own"
        )
    previous = await _previous(work, answer, points)
    grown = not work.query_type.series
    rows = await run_in_worker(len(previous), partial(_each, answer.rows, previous, grown=grown))
    return Comparison(*_bounds(work.scope.span), rows)


def _each(
    rows: Sequence[Struct], previous: Sequence[Struct | None], *, grown: bool
) -> Sequence[ComparedRow]:
    return [
        compare_row(row, before, grown=grown) for row, before in zip(rows, previous, strict=True)
    ]


def compare_row(row: Struct, before: Struct | None, *, grown: bool = True) -> ComparedRow:
    """One row beside the other; when `grown`, a count that was not there before was 0."""
    shown = msgspec.structs.asdict(row)
    numbers = {n: v for n, v in shown.items() if _is_number(v)}
    if before is None:
        change = {n: v if grown and isinstance(v, int) else None for n, v in numbers.items()}
        return ComparedRow(None, change, dict.fromkeys(numbers))
    bases = {name: getattr(before, name) for name in numbers}
    changes = {name: _change(value, bases[name]) for name, value in numbers.items()}
    percents = {name: _percent(changes[name], bases[name]) for name in numbers}
    return ComparedRow(before, changes, percents)


async def _previous(
    work: PreparedQuery, answer: QueryResult, points: Sequence[SeriesPoint]
) -> Sequence[Struct | None]:
    query_type = work.query_type
    keys = key_fields(query_type)
    if query_type.series:
        return _rows_at(await _all(work), answer.positions)
    if query_type.starts_with_time and query_type.sparse:
        return _match_by_point(await _all(work), work.points, answer.rows, points, keys)
    if not keys:
        return _rows_at(await _all(work), range(len(answer.rows)))
    rows = await (_all(work) if work.statement.finish else _rows_of_keys(work, answer, keys[0]))
    found = {tuple(getattr(row, key) for key in keys): row for row in reversed(rows)}
    return [found.get(tuple(getattr(row, key) for key in keys)) for row in answer.rows]


def _match_by_point(
    others: Sequence[Struct],
    other_points: Sequence[SeriesPoint],
    rows: Sequence[Struct],
    points: Sequence[SeriesPoint],
    keys: Sequence[str],
) -> Sequence[Struct | None]:
    """For rows that begin with a label: those of the same place in the span, and the same text."""
    found = {
        key: row for row, key in zip(others, _point_keys(others, other_points, keys), strict=True)
    }
    return [found.get(key) for key in _point_keys(rows, points, keys)]


def _point_keys(
    rows: Sequence[Struct], points: Sequence[SeriesPoint], keys: Sequence[str]
) -> Sequence[tuple[object, ...]]:
    place = {point.label: i for i, point in enumerate(points)}
    texts = [tuple(getattr(row, key) for key in keys) for row in rows]
    labels = [msgspec.structs.astuple(row)[0] for row in rows]
    return [(place.get(label), *text) for label, text in zip(labels, texts, strict=True)]


def _rows_at(rows: Sequence[Struct], places: Sequence[int]) -> Sequence[Struct | None]:
    return [rows[place] if place < len(rows) else None for place in places]


async def _all(work: PreparedQuery) -> Sequence[Struct]:
    return (await execute(work, ALL_ROWS)).rows


async def _rows_of_keys(work: PreparedQuery, answer: QueryResult, key: str) -> Sequence[Struct]:
    """The other span's rows with one of the texts that the answer shows, however low they rank.

    They come in the type's own order, so that of several with the same texts the first counts.
    """
    values = sorted({value for row in answer.rows if (value := getattr(row, key)) is not None})
    selected = list(work.query_type.sql_columns)
    names = [f"c{i}" for i in range(len(selected))]
    column = names[selected.index(key)]
    statement = work.statement
    body, _, own = statement.sql.rpartition("ORDER BY")
    shown = ", ".join(names)
    ranked = f"SELECT ROW_NUMBER() OVER (ORDER BY {own}),\n       answer.*\n  FROM answer"  # noqa: S608
    narrowed = msgspec.structs.replace(
        statement,
        ctes=(
            *statement.ctes,
            Cte("answer", body),
            Cte(f"answer_in_order (place, {shown})", ranked),
        ),
        sql=f"SELECT {shown}\n  FROM answer_in_order\n"  # noqa: S608
        f" WHERE {column} IN (SELECT UNNEST($keys))\n    OR {column} IS NULL\n ORDER BY place",
        values={**statement.values, "keys": values},
    )
    found = await work.fetch_labelled(narrowed)
    return await with_nested_lists(
        work, await run_in_worker(len(found), partial(work.to_rows, found))
    )


def key_fields(query_type: QueryType) -> Sequence[str]:
    """The fields that say what a row is about: its text."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(query_type.row)}
    plain = [name for name, form in field_specs(query_type.row).items() if form is PLAIN_FIELD]
    return [name for name in plain if kinds[name] in (str, str | None)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _change(value: float, base: object) -> int | float | None:
    if not isinstance(base, int | float):
        return None
    if isinstance(value, int) and isinstance(base, int):
        return value - base
    return float(Decimal(repr(value)) - Decimal(repr(base)))  # as exact as what is shown


def _percent(change: float | None, base: object) -> float | None:
    if change is None or not isinstance(base, int | float) or base == 0:
        return None
    exact = Decimal(repr(change)) * 100 / abs(Decimal(repr(base)))
    return float(exact.quantize(HUNDREDTH, ROUND_HALF_UP))


def _bounds(whole: TimeRange) -> tuple[str | None, str | None]:
    return format_instant(whole.start_ms), format_instant(whole.end_ms)
