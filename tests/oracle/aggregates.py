"""Aggregates of the oracles: groups, distinct values, ratios, medians, order."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any, TypeVar

from tests.oracle.stored_rows import Row

ResultRow = dict[str, Any]
"""One row of an answer, as JSON has it."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

PAGE_VIEWS = ("screen_view", "pageview")


def is_view(row: Row) -> bool:
    """Whether the row is a page view."""
    return row["name"] in PAGE_VIEWS


def views(rows: Iterable[Row]) -> list[Row]:
    """The page views."""
    return [row for row in rows if is_view(row)]


def distinct(rows: Iterable[Row], column: str) -> int:
    """Number of distinct values; a missing value does not count."""
    return len({row.get(column) for row in rows} - {None})


def visitors(rows: Iterable[Row]) -> int:
    """How many people."""
    return distinct(rows, "anonymous_id")


def grouped(things: Iterable[T], key: Callable[[T], K | None]) -> dict[K, list[T]]:
    """Things by key, in their order; those without a key are in no group."""
    found: dict[K, list[T]] = {}
    for thing in things:
        name = key(thing)
        if name is not None:
            found.setdefault(name, []).append(thing)
    return found


def rounded(value: Fraction | Decimal | int, digits: int = 2) -> float:
    """Half up, away from zero."""
    exact = Fraction(value)
    step = Decimal(1).scaleb(-digits)
    shifted = exact * 10**digits
    whole = (shifted + Fraction(1, 2)).__floor__() if shifted >= 0 else -_half_up(-shifted)
    return float((Decimal(whole) * step).quantize(step, ROUND_HALF_UP))


def _half_up(value: Fraction) -> int:
    return (value + Fraction(1, 2)).__floor__()


class Nothing(float):
    """A ratio of nothing: shown as 0, and no number to compare with."""


def ratio(part: Fraction | Decimal | int, whole: int) -> float:
    """Part over whole; of nothing it is 0."""
    return rounded(Fraction(part) / whole) if whole else Nothing()


def percent(part: int, whole: int) -> float:
    """Part of whole in percent."""
    return ratio(part * 100, whole)


def median(values: Sequence[Fraction | Decimal | int]) -> Fraction:
    """The middle one, or the mean of the two in the middle; 0 of nothing."""
    ranked = sorted(Fraction(value) for value in values)
    if not ranked:
        return Fraction()
    return (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2


def average(values: Sequence[Fraction | Decimal | int], digits: int = 2) -> float | None:
    """The mean; nothing of nothing."""
    if not values:
        return None
    return rounded(sum((Fraction(value) for value in values), Fraction()) / len(values), digits)


def quantile(
    values: Sequence[Fraction | Decimal | int], percents: int, digits: int = 2
) -> float | None:
    """The value that so many percent lie below, in a line between neighbours."""
    ranked = sorted(Fraction(value) for value in values)
    if not ranked:
        return None
    at = Fraction(percents, 100) * (len(ranked) - 1)
    low = at.__floor__()
    high = min(low + 1, len(ranked) - 1)
    return rounded(ranked[low] + (ranked[high] - ranked[low]) * (at - low), digits)


def there(rows: Iterable[Row], column: str) -> list[Any]:
    """The values of a column that are there."""
    return [row[column] for row in rows if row.get(column) is not None]


def hidden(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The rows without what they were only sorted by."""
    return [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows]


def ordered(rows: Iterable[ResultRow], *terms: str) -> list[ResultRow]:
    """Sorted by the first term, then the next; a term with `-` in front descends."""
    found = list(rows)
    for term in reversed(terms):
        name = term.removeprefix("-")
        absent_last = term.startswith("-")
        found.sort(
            key=lambda row: (
                (_there(row[name], absent_last), row[name])
                if row[name] is not None
                else (_there(None, absent_last),)
            ),
            reverse=absent_last,
        )
    return found


def _there(value: object, reverse: bool) -> int:
    """Rows without a value come last in either order."""
    return int((value is None) is not reverse)


def shared(rows: list[ResultRow], whole: str = "visitors") -> list[ResultRow]:
    """The rows with their share of the sum over all of them."""
    total = sum(row[whole] for row in rows)
    return [{**row, "percentage": percent(row[whole], total)} for row in rows]


def first(rows: Sequence[Row], column: str) -> Any:
    """The value of the first row in time."""
    return rows[0].get(column) if rows else None


def named(row: Mapping[str, Any], *columns: str) -> ResultRow:
    """Some columns of a row."""
    return {column: row.get(column) for column in columns}
