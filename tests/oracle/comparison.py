"""Comparison: each row beside the same row of another time range, and the change."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import msgspec

from query.standard.comparison import key_fields
from query.standard.query_types import QUERY_TYPES
from tests.oracle import wall_clock
from tests.oracle.aggregates import Nothing, ResultRow
from tests.oracle.oracles import ORACLES
from tests.oracle.query import ScopedRows, StandardQuery
from tests.oracle.stored_rows import RowsByTable
from tests.oracle.types.active_visitors import PERIODS

COMPARABLE = [name for name, each in QUERY_TYPES.items() if each.is_comparable]


DEFAULT_PERIODS = {"retention": "week"}
"""Periods of types whose buckets are not the query's."""


def days_before(query: StandardQuery) -> StandardQuery:
    """The same question about as many days, up to the first of its own."""
    days = query.end - query.start + timedelta(days=1)
    return msgspec.structs.replace(query, start=query.start - days, end=query.end - days)


def comparison(held: RowsByTable, query: StandardQuery, rows: Sequence[ResultRow]) -> ResultRow:
    """The comparison in a response: the previous period, and its rows."""
    other = days_before(query)
    start, beyond = wall_clock.bounds(other.start, other.end, other.zone)
    if "breakdown" in query.options:
        here = ORACLES[query.name].rows(ScopedRows(held, query))
        chosen = [row["breakdown"] for row in here if not row["other"]]
        other = msgspec.structs.replace(other, options={**query.options, "chosen": chosen})
    befores = previous(query, rows, ORACLES[query.name].rows(ScopedRows(held, other)), other)
    grown = not QUERY_TYPES[query.name].series
    return {
        "start": wall_clock.iso(start),
        "end": wall_clock.iso(beyond),
        "rows": [beside(row, before, grown) for row, before in zip(rows, befores, strict=True)],
    }


def previous(
    query: StandardQuery,
    rows: Sequence[ResultRow],
    others: Sequence[ResultRow],
    other: StandardQuery,
) -> list[ResultRow | None]:
    """For each row the one of the other span: of its place, or of its text, or of both."""
    kind = QUERY_TYPES[query.name]
    texts = key_fields(kind)
    if kind.series or not (texts or kind.starts_with_time):
        return [others[i] if i < len(others) else None for i in range(len(rows))]
    label = msgspec.structs.fields(kind.row)[0].name if kind.starts_with_time else None

    def key(row: ResultRow, place: Mapping[str, int]) -> tuple[Any, ...]:
        return (place[row[label]] if label else 0, *(row.get(text) for text in texts))

    here, there = places(query), places(other)
    found = {key(row, there): row for row in reversed(others)}
    return [found.get(key(row, here)) for row in rows]


def places(query: StandardQuery) -> dict[str, int]:
    """Index of each bucket of the time range by its label; the options may say which buckets.

    Daily buckets are included otherwise: some types have no others.
    """
    start, beyond = wall_clock.bounds(query.start, query.end, query.zone)
    found: dict[str, int] = {}
    period = query.options.get("period", DEFAULT_PERIODS.get(query.name))
    for granularity in {PERIODS[period]} if period else {"daily", query.granularity}:
        points = wall_clock.points(start, beyond, query.zone, granularity)
        found |= {label: i for i, (label, _) in enumerate(points)}
    return found


def beside(row: ResultRow, before: ResultRow | None, grown: bool) -> ResultRow:
    """One row and the other."""
    numbers = {n: v for n, v in row.items() if isinstance(v, int | float) and v is not True}
    numbers = {n: v for n, v in numbers.items() if v is not False}
    if before is None:
        counts = {n for n, v in numbers.items() if isinstance(v, int) or n == "conversions"}
        new = {n: v if grown and n in counts else None for n, v in numbers.items()}
        return {"previous": None, "change": new, "changePercent": dict.fromkeys(numbers)}
    return {
        "previous": before,
        "change": {n: change(v, before[n]) for n, v in numbers.items()},
        "changePercent": {n: percent(v, before[n]) for n, v in numbers.items()},
    }


def change(now: float, before: float | None) -> float | None:
    """How much more it is."""
    if before is None or isinstance(before, Nothing):
        return None
    return float(Decimal(repr(now)) - Decimal(repr(before)))


def percent(now: float, before: float | None) -> float | None:
    """How much more it is, of what it was; of nothing there is no part."""
    if not before:
        return None
    more = (Decimal(repr(now)) - Decimal(repr(before))) * 100 / abs(Decimal(repr(before)))
    return float(more.quantize(Decimal("0.01"), ROUND_HALF_UP))
