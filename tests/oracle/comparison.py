"""Comparison: each row beside the row of another span, and what changed between them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import msgspec

from query.standard.comparison import key_fields
from query.standard.declaration.statement import requested_range
from query.standard.query_types import QUERY_TYPES
from tests.oracle import wall_clock
from tests.oracle.aggregates import Answer
from tests.oracle.oracles import ORACLES
from tests.oracle.query import Question, Seen
from tests.oracle.stored_rows import Facts

COMPARABLE = [
    name for name, each in QUERY_TYPES.items() if each.time_range_override is requested_range
]


def days_before(question: Question) -> Question:
    """The same question about as many days, up to the first of its own."""
    days = question.end - question.start + timedelta(days=1)
    return msgspec.structs.replace(question, start=question.start - days, end=question.end - days)


def comparison(held: Facts, question: Question, rows: Sequence[Answer]) -> Answer:
    """What is said beside the rows of an answer, for the period before."""
    other = days_before(question)
    start, beyond = wall_clock.bounds(other.start, other.end, other.zone)
    befores = previous(question, rows, ORACLES[question.name].rows(Seen(held, other)), other)
    grown = not QUERY_TYPES[question.name].series
    return {
        "start": wall_clock.iso(start),
        "end": wall_clock.iso(beyond),
        "rows": [beside(row, before, grown) for row, before in zip(rows, befores, strict=True)],
    }


def previous(
    question: Question, rows: Sequence[Answer], others: Sequence[Answer], other: Question
) -> list[Answer | None]:
    """For each row the one of the other span: of its place, or of its text, or of both."""
    kind = QUERY_TYPES[question.name]
    texts = key_fields(kind)
    if kind.series or not (texts or kind.starts_with_time):
        return [others[i] if i < len(others) else None for i in range(len(rows))]
    label = msgspec.structs.fields(kind.row)[0].name if kind.starts_with_time else None

    def key(row: Answer, place: Mapping[str, int]) -> tuple[Any, ...]:
        return (place[row[label]] if label else 0, *(row[text] for text in texts))

    here, there = places(question), places(other)
    found = {key(row, there): row for row in reversed(others)}
    return [found.get(key(row, here)) for row in rows]


def places(question: Question) -> dict[str, int]:
    """Buckets of the span by label; a type may have days whatever is asked."""
    start, beyond = wall_clock.bounds(question.start, question.end, question.zone)
    found: dict[str, int] = {}
    for granularity in {"daily", question.granularity}:
        points = wall_clock.points(start, beyond, question.zone, granularity)
        found |= {label: i for i, (label, _) in enumerate(points)}
    return found


def beside(row: Answer, before: Answer | None, grown: bool) -> Answer:
    """One row and the other."""
    numbers = {n: v for n, v in row.items() if isinstance(v, int | float) and v is not True}
    numbers = {n: v for n, v in numbers.items() if v is not False}
    if before is None:
        new = {n: v if grown and isinstance(v, int) else None for n, v in numbers.items()}
        return {"previous": None, "change": new, "changePercent": dict.fromkeys(numbers)}
    return {
        "previous": before,
        "change": {n: change(v, before[n]) for n, v in numbers.items()},
        "changePercent": {n: percent(v, before[n]) for n, v in numbers.items()},
    }


def change(now: float, before: float | None) -> float | None:
    """How much more it is."""
    if before is None:
        return None
    return float(Decimal(repr(now)) - Decimal(repr(before)))


def percent(now: float, before: float | None) -> float | None:
    """How much more it is, of what it was; of nothing there is no part."""
    if not before:
        return None
    more = (Decimal(repr(now)) - Decimal(repr(before))) * 100 / abs(Decimal(repr(before)))
    return float(more.quantize(Decimal("0.01"), ROUND_HALF_UP))
