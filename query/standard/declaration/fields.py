"""How SQL columns become a field of a row: ratios, means, medians, instants.

SQL selects integers and text only; ratios, instants and durations are computed here, so that every
engine gives the same result. A ratio or a median is rounded half up to two decimals.
"""

import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType, structs

from query.engine.engine import Row
from schemas.runtime.clock import format_instant


class FieldSpec(Struct, frozen=True):
    """Makes a field from one or more columns, named by the field and a suffix."""

    suffixes: tuple[str, ...]
    to_value: Callable[..., object]
    unit: str = ""
    """Unit of the value, when its Python type does not tell it."""
    sort_sql: str = ""
    """SQL over its columns to sort by, when the value is not a ratio of integers."""
    is_of_nothing: Callable[..., bool] | None = None
    """Whether its columns have nothing to divide by, for a ratio that is 0 then."""

    @property
    def or_none(self) -> "FieldSpec":
        """The same, but None where there is nothing to divide by."""
        nothing = self.is_of_nothing
        if nothing is None:
            return self
        return structs.replace(
            self, to_value=lambda *columns: None if nothing(*columns) else self.to_value(*columns)
        )

    is_key: bool = False
    """Whether it tells rows from each other, as a text does."""
    is_count: bool = False
    """Whether it is 0 in a group that is not there, though it has decimals."""


def hundredths(numerator: int, denominator: int) -> float:
    """The ratio of two integers to two decimals, rounded half up; 0 when the denominator is 0."""
    if not denominator:
        return 0.0
    return (numerator * 200 + denominator) // (2 * denominator) / 100


def percent(part: int | None, whole: int | None) -> float:
    """`part` of `whole` in percent."""
    return hundredths((part or 0) * 100, whole or 0)


def optional_percent(part: int | None, whole: int | None) -> float | None:
    """`part` of `whole` in percent; None without `part`."""
    return None if part is None else percent(part, whole)


def mean(total: int | None, count: int | None) -> float:
    """`total` over `count`."""
    return hundredths(total or 0, count or 0)


def mean_seconds(total_ms: int | None, count: int | None) -> float:
    """Milliseconds over a count, in seconds."""
    return hundredths(total_ms or 0, (count or 0) * 1000)


def seconds(ms: int | None) -> float:
    """Milliseconds in seconds."""
    return mean_seconds(ms, 1)


def median_seconds(low_ms: int | None, high_ms: int | None) -> float:
    """The median in seconds, from the two middle milliseconds."""
    return hundredths((low_ms or 0) + (high_ms or 0), 2000)


def no_whole(_part: object, whole: int | None) -> bool:
    """Whether a ratio has nothing to divide by."""
    return not whole


def no_low(low: int | None, _high: object) -> bool:
    """Whether a median has no values."""
    return low is None


def rounded(value: Fraction, digits: int) -> float:
    """The value rounded half up, away from zero."""
    whole = (abs(value) * 10**digits + Fraction(1, 2)).__floor__()
    return float(Fraction(whole if value >= 0 else -whole, 10**digits))


def average(total: Decimal | int | None, count: int | None, digits: int = 2) -> float | None:
    """`total` over `count`; None when the count is 0."""
    return rounded(Fraction(total or 0) / count, digits) if count else None


def quantile(
    low: Decimal | int | None,
    high: Decimal | int | None,
    count: int | None,
    percent: int = 50,
    digits: int = 2,
) -> float | None:
    """The value `percent` of the way through `count` ranked values, between its two neighbours."""
    if not count:
        return None
    share = Fraction((count - 1) * percent % 100, 100)
    below, above = Fraction(low or 0), Fraction(high or 0)
    return rounded(below + (above - below) * share, digits)


def rounded_seconds(low_ms: int | None, high_ms: int | None, count: int | None) -> float | None:
    """The median in seconds, from the two middle milliseconds; None without values."""
    return median_seconds(low_ms, high_ms) if count else None


def optional_amount(total: float | Fraction | None) -> float | None:
    """A sum to four decimals; None without one."""
    return None if total is None else rounded(Fraction(total), 4)


def identity(value: Any) -> object:
    """The value unchanged."""
    return value


PLAIN_FIELD = FieldSpec(("",), identity)

Percent = Annotated[
    float, FieldSpec(("_part", "_whole"), percent, "percent", is_of_nothing=no_whole)
]
OptionalPercent = Annotated[
    float | None, FieldSpec(("_part", "_whole"), optional_percent, "percent")
]
"""A share that may be unknown."""
Mean = Annotated[float, FieldSpec(("_total", "_count"), mean, "mean", is_of_nothing=no_whole)]
MeanSeconds = Annotated[
    float, FieldSpec(("_ms", "_count"), mean_seconds, "seconds", is_of_nothing=no_whole)
]
DurationSeconds = Annotated[float, FieldSpec(("",), seconds, "seconds")]
MedianSeconds = Annotated[
    float, FieldSpec(("_low", "_high"), median_seconds, "seconds", is_of_nothing=no_low)
]
OptionalMedianSeconds = Annotated[
    float | None, FieldSpec(("_low", "_high", "_count"), rounded_seconds, "seconds")
]
"""A median that there may be none of."""
Instant = Annotated[str | None, FieldSpec(("",), format_instant, "instant")]
OptionalText = Annotated[str | None, FieldSpec(("",), identity, "string")]
"""Text that may be absent."""
OptionalInteger = Annotated[int | None, FieldSpec(("",), identity, "integer")]
"""An integer that may be absent."""
EXACT_MEAN = "{0} / NULLIF({1}, 0)"
"""SQL of the mean of values with decimals, for sorting."""


def _exact(percent: int) -> str:
    low, high = (f"CAST({{{i}}} AS DECIMAL(38, 4))" for i in (0, 1))  # stored ones have 18 digits
    return f"{low} * 100 + ({high} - {low}) * (({{2}} - 1) * {percent} % 100)"


Average = Annotated[float | None, FieldSpec(("_sum", "_count"), average, "mean", EXACT_MEAN)]
Median = Annotated[
    float | None, FieldSpec(("_low", "_high", "_count"), quantile, "median", _exact(50))
]
Share = Annotated[float, FieldSpec(("",), partial(rounded, digits=4), "number", is_count=True)]
"""A sum of fractions."""
OptionalAmount = Annotated[
    float | None,
    FieldSpec(("",), optional_amount, "number"),
]
"""A sum of values that may be absent."""
KeyText = Annotated[str | None, FieldSpec(("",), identity, "string", is_key=True)]
"""Text that may be absent, and identifies the row with others."""
OptionalKeyInteger = Annotated[int | None, FieldSpec(("",), identity, "integer", is_key=True)]
KeyInteger = Annotated[int, FieldSpec(("",), identity, is_key=True)]
"""An integer that tells rows from each other."""
Group = Annotated[str | UnsetType | None, FieldSpec(("",), identity, "string", is_key=True)]
"""The value of a breakdown that a row is of; rows have it with a breakdown only."""
Other = Annotated[bool | UnsetType, FieldSpec(("",), bool, "boolean", is_key=True)]
"""Whether a row is of all values of a breakdown that have no group of their own; as `Group`."""
ABSENT = FieldSpec(("",), lambda _: UNSET)
"""Of a field that the rows of a statement do not have."""
ListField = FieldSpec((), list, "list")
"""A list that a nested list fills."""


def fine_quantile(percent: int) -> FieldSpec:
    """A percentile to four decimals."""
    unit = "median" if percent == 50 else f"{percent}th percentile"
    to_value = partial(quantile, percent=percent, digits=4)
    return FieldSpec(("_low", "_high", "_count"), to_value, unit, _exact(percent))


FineAverage = Annotated[
    float | None, FieldSpec(("_sum", "_count"), partial(average, digits=4), "mean", EXACT_MEAN)
]
P50 = Annotated[float | None, fine_quantile(50)]
P75 = Annotated[float | None, fine_quantile(75)]
P90 = Annotated[float | None, fine_quantile(90)]
P95 = Annotated[float | None, fine_quantile(95)]
P99 = Annotated[float | None, fine_quantile(99)]
Date = Annotated[str, FieldSpec(("",), identity, "date")]
"""The label of a bucket; SQL selects its number."""


@lru_cache(maxsize=1024)
def field_specs(row: type[Struct]) -> Mapping[str, FieldSpec]:
    """How each field of a row shape is made from columns."""
    hints = typing.get_type_hints(row, include_extras=True)
    return {field.name: _field_spec(hints[field.name]) for field in structs.fields(row)}


def describe_row(row: type[Struct]) -> Mapping[str, str]:
    """The unit or type of each field of a row shape, by its name in JSON."""
    type_names: Mapping[object, str] = {
        int: "integer",
        str: "string",
        str | None: "string",
        bool: "boolean",
        float: "number",
    }
    hints = typing.get_type_hints(row)
    specs = field_specs(row)
    return {
        field.encode_name: specs[field.name].unit or type_names[hints[field.name]]
        for field in structs.fields(row)
    }


def to_row(row: type[Struct], columns: Row, specs: Mapping[str, FieldSpec]) -> Struct:
    """One row of the result from one row of SQL."""
    fields: list[Any] = []
    start = 0
    for spec in specs.values():
        end = start + len(spec.suffixes)
        fields.append(spec.to_value(*columns[start:end]))
        start = end
    return row(*fields)


def _field_spec(hint: object) -> FieldSpec:
    extras = getattr(hint, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, FieldSpec)), PLAIN_FIELD)
