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

from query.request.time_range import Point, Span
from query.response.worker_threads import aside
from query.standard.declaration.fields import PLAIN
from query.standard.declaration.query_type import Cte, QueryType, as_asked, forms
from query.standard.execute import Answer, Page, Work, detailed, run
from schemas.errors import Malformed
from schemas.runtime.clock import iso

Shown = Mapping[str, Any]
HUNDREDTH = Decimal("0.01")
EVERYTHING = Page(limit=10_000)


class Compared(Struct, frozen=True, rename="camel"):
    """What became of one row; percent is null where there was nothing to begin with."""

    previous: Struct | None
    change: Mapping[str, int | float | None]
    change_percent: Mapping[str, float | None]


class Comparison(Struct, frozen=True, rename="camel"):
    """The other span (UTC, its end excluded), and a row for each row of the answer."""

    start: str | None
    end: str | None
    rows: Sequence[Compared]


async def comparison(work: Work, answer: Answer, points: Sequence[Point]) -> Comparison:
    """The rows of the answer beside those of the work, which is about the other span.

    `points` are those of the span that was asked for, of a type whose rows begin with one.
    """
    if work.query_type.over is not as_asked:
        raise Malformed(
            f"'compare' does not fit query type '{work.query_type.name}', which looks at a span "
            "of its own"
        )
    previous = await _previous(work, answer, points)
    grown = not work.query_type.series
    rows = await aside(len(previous), partial(_each, answer.rows, previous, grown=grown))
    return Comparison(*_bounds(work.scope.span), rows)


def _each(
    rows: Sequence[Struct], previous: Sequence[Struct | None], *, grown: bool
) -> Sequence[Compared]:
    return [compared(row, before, grown=grown) for row, before in zip(rows, previous, strict=True)]


def compared(row: Struct, before: Struct | None, *, grown: bool = True) -> Compared:
    """One row beside the other; when `grown`, a count that was not there before was 0."""
    shown = msgspec.structs.asdict(row)
    numbers = {n: v for n, v in shown.items() if _is_number(v)}
    if before is None:
        change = {n: v if grown and isinstance(v, int) else None for n, v in numbers.items()}
        return Compared(None, change, dict.fromkeys(numbers))
    bases = {name: getattr(before, name) for name in numbers}
    changes = {name: _change(value, bases[name]) for name, value in numbers.items()}
    percents = {name: _percent(changes[name], bases[name]) for name in numbers}
    return Compared(before, changes, percents)


async def _previous(work: Work, answer: Answer, points: Sequence[Point]) -> Sequence[Struct | None]:
    query_type = work.query_type
    keys = key_fields(query_type)
    if query_type.series:
        return _at(await _all(work), answer.places)
    if query_type.timed and query_type.sparse:
        return _placed(await _all(work), work.points, answer.rows, points, keys)
    if not keys:
        return _at(await _all(work), range(len(answer.rows)))
    rows = await (_all(work) if query_type.finish else _of_keys(work, answer, keys[0]))
    found = {tuple(getattr(row, key) for key in keys): row for row in reversed(rows)}
    return [found.get(tuple(getattr(row, key) for key in keys)) for row in answer.rows]


def _placed(
    others: Sequence[Struct],
    other_points: Sequence[Point],
    rows: Sequence[Struct],
    points: Sequence[Point],
    keys: Sequence[str],
) -> Sequence[Struct | None]:
    """For rows that begin with a label: those of the same place in the span, and the same text."""
    found = {key: row for row, key in zip(others, _places(others, other_points, keys), strict=True)}
    return [found.get(key) for key in _places(rows, points, keys)]


def _places(
    rows: Sequence[Struct], points: Sequence[Point], keys: Sequence[str]
) -> Sequence[tuple[object, ...]]:
    place = {point.label: i for i, point in enumerate(points)}
    texts = [tuple(getattr(row, key) for key in keys) for row in rows]
    labels = [msgspec.structs.astuple(row)[0] for row in rows]
    return [(place.get(label), *text) for label, text in zip(labels, texts, strict=True)]


def _at(rows: Sequence[Struct], places: Sequence[int]) -> Sequence[Struct | None]:
    return [rows[place] if place < len(rows) else None for place in places]


async def _all(work: Work) -> Sequence[Struct]:
    return (await run(work, EVERYTHING)).rows


async def _of_keys(work: Work, answer: Answer, key: str) -> Sequence[Struct]:
    """The other span's rows with one of the texts that the answer shows, however low they rank.

    They come in the type's own order, so that of several with the same texts the first counts.
    """
    values = sorted({value for row in answer.rows if (value := getattr(row, key)) is not None})
    selected = list(work.query_type.selected)
    names = [f"c{i}" for i in range(len(selected))]
    column = names[selected.index(key)]
    statement = work.statement
    body, _, own = statement.sql.rpartition("ORDER BY")
    shown = ", ".join(names)
    ranked = f"SELECT ROW_NUMBER() OVER (ORDER BY {own}),\n       answer.*\n  FROM answer"  # noqa: S608
    narrowed = msgspec.structs.replace(
        statement,
        given=(
            *statement.given,
            Cte("answer", body),
            Cte(f"answer_in_order (place, {shown})", ranked),
        ),
        sql=f"SELECT {shown}\n  FROM answer_in_order\n"  # noqa: S608
        f" WHERE {column} IN (SELECT UNNEST($keys))\n    OR {column} IS NULL\n ORDER BY place",
        values={**statement.values, "keys": values},
    )
    found = await work.rows(narrowed)
    return await detailed(work, await aside(len(found), partial(work.shaped, found)))


def key_fields(query_type: QueryType) -> Sequence[str]:
    """The fields that say what a row is about: its text."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(query_type.row)}
    plain = [name for name, form in forms(query_type.row).items() if form is PLAIN]
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


def _bounds(whole: Span) -> tuple[str | None, str | None]:
    return iso(whole.start_ms), iso(whole.end_ms)
