"""Forms: how the plain columns that SQL gives become one field of a row shape.

SQL gives whole numbers and text only; ratios, instants and durations are made here, once, so that
every engine answers alike. A ratio or a median is rounded half up to two decimals.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Struct


class Form(Struct, frozen=True):
    """One field from one or more columns, named by the field and a suffix."""

    suffixes: tuple[str, ...]
    make: Callable[..., object]
    unit: str = ""
    """What the value is, when its Python type does not say."""


def hundredths(numerator: int, denominator: int) -> float:
    """The ratio of two whole numbers to two decimals, half up; 0 of nothing is 0."""
    if not denominator:
        return 0.0
    return (numerator * 200 + denominator) // (2 * denominator) / 100


def percent(part: int | None, whole: int | None) -> float:
    """`part` of `whole` in percent."""
    return hundredths((part or 0) * 100, whole or 0)


def mean(total: int | None, count: int | None) -> float:
    """`total` over `count`."""
    return hundredths(total or 0, count or 0)


def mean_seconds(total_ms: int | None, count: int | None) -> float:
    """Milliseconds over a count, in seconds."""
    return hundredths(total_ms or 0, (count or 0) * 1000)


def middle_seconds(low_ms: int | None, high_ms: int | None) -> float:
    """The mean of the two middle milliseconds, in seconds."""
    return hundredths((low_ms or 0) + (high_ms or 0), 2000)


def iso(ms: int | None) -> str | None:
    """Unix milliseconds as ISO 8601 in UTC with milliseconds."""
    if ms is None:
        return None
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def same(value: Any) -> object:
    """The value as it is."""
    return value


PLAIN = Form(("",), same)

Percent = Annotated[float, Form(("_part", "_whole"), percent, "percent")]
Mean = Annotated[float, Form(("_total", "_count"), mean, "mean")]
MeanSeconds = Annotated[float, Form(("_ms", "_count"), mean_seconds, "seconds")]
MedianSeconds = Annotated[float, Form(("_low", "_high"), middle_seconds, "seconds")]
Instant = Annotated[str | None, Form(("",), iso, "instant")]
Date = Annotated[str, Form(("",), same, "date")]
"""The label of a bucket; SQL gives its number."""
