"""Metrics of web vitals: percentiles, shares of good and poor values, samples.

The bounds are those that Google publishes for each vital (web.dev/articles/vitals): a value up to
the first is good, one above the second is poor, one between them needs improvement.
"""

from collections.abc import Iterator

from msgspec import Struct

from query.metrics.metric import Metric, Part, Source, Unit, count, percent
from query.standard.sql.percentiles import neighbors

PERCENTILES = (50, 75, 90, 95)
DECIMALS = 4
"""Decimals of a percentile, as many as values have."""


class VitalBounds(Struct, frozen=True):
    """One web vital, with the bounds of its values."""

    name: str
    good: str
    """The greatest value that is good."""
    poor: str
    """Values above it are poor."""
    unit: Unit = Unit.MILLISECONDS


VITALS = (
    VitalBounds("LCP", "2500", "4000"),
    VitalBounds("INP", "200", "500"),
    VitalBounds("CLS", "0.1", "0.25", Unit.NUMBER),
    VitalBounds("FCP", "1800", "3000"),
    VitalBounds("TTFB", "800", "1800"),
)


def _metrics(vital: VitalBounds) -> Iterator[Metric]:
    name = vital.name.lower()
    only = f"metric_name = '{vital.name}'"
    samples = _count(f"samples_{name}", only, only)
    for number in PERCENTILES:
        yield _percentile(vital, number, only, samples)
    shares = {
        "good": (f"metric_value <= {vital.good}", f"at most {vital.good}"),
        "needs_improvement": (
            f"metric_value > {vital.good} AND metric_value <= {vital.poor}",
            f"above {vital.good}, at most {vital.poor}",
        ),
        "poor": (f"metric_value > {vital.poor}", f"above {vital.poor}"),
    }
    for share, (condition, meaning) in shares.items():
        part = _count(f"{share}_{name}", only, f"{only} AND {condition}")
        yield percent(part.name, part, samples, f"share of {vital.name} that is {meaning}")
    yield count(samples, f"measurements of {vital.name}")


def _count(name: str, only: str, condition: str) -> Part:
    return Part(name, Source.VITALS, f"COUNT(*) FILTER (WHERE {condition})", only=only)


def _percentile(vital: VitalBounds, number: int, only: str, samples: Part) -> Metric:
    """An exact percentile: between its two neighbors, rounded half up, away from zero."""
    name = f"p{number}_{vital.name.lower()}"
    low, high = (
        Part(f"{name}_{end}", Source.VITALS, sql, only=only)
        for end, sql in zip(("low", "high"), neighbors("metric_value", number, only), strict=True)
    )
    way = f"({samples.name} - 1) * {number} % 100"
    units = f"({_units(low.name)} * 100 + ({_units(high.name)} - {_units(low.name)}) * ({way}))"
    rounded = (
        f"CASE WHEN {units} >= 0 THEN INT_DIV({units} + 50, 100)"
        f" ELSE -INT_DIV(50 - {units}, 100) END"
    )
    sql = f"CAST({rounded} AS DECIMAL(24, 0)) * 0.{1:0{DECIMALS}}"
    meaning = f"{'median' if number == 50 else f'{number}th percentile'} of {vital.name}"
    return Metric(name, vital.unit, meaning, sql, (low, high, samples))


def _units(value: str) -> str:
    """A value with four decimals as an integer."""
    return f"CAST({value} * {10**DECIMALS} AS INT128)"


VITAL_METRICS = tuple(metric for vital in VITALS for metric in _metrics(vital))
