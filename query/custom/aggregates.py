"""AGGREGATES: what a custom query may compute from a column."""

from enum import StrEnum

from msgspec import Struct

from schemas.tables import ColumnType

NUMBER_TYPES = frozenset({ColumnType.LONG, ColumnType.INTEGER, ColumnType.DECIMAL})
ORDERED_TYPES = NUMBER_TYPES | {ColumnType.TIMESTAMP}
ALL_TYPES = frozenset(ColumnType)


class ResultType(StrEnum):
    """What kind of value comes out."""

    NUMBER = "number"
    SAME = "same"
    """A value of the column."""


class Aggregate(Struct, frozen=True):
    """One aggregate; `{column}` is filled in with our own expression."""

    name: str
    sql: str
    description: str
    types: frozenset[ColumnType] = NUMBER_TYPES
    result: ResultType = ResultType.NUMBER


def _quantile(name: str, share: str, meaning: str) -> Aggregate:
    # Exact and interpolated. Other engines only estimate, see README.md.
    return Aggregate(name, f"quantile_cont(CAST({{column}} AS DOUBLE), {share})", meaning)


AGGREGATES = (
    Aggregate("count", "COUNT({column})", "rows that have it; `*` counts all", types=ALL_TYPES),
    Aggregate("uniq", "COUNT(DISTINCT {column})", "distinct values, exactly", types=ALL_TYPES),
    Aggregate("sum", "SUM({column})", "sum"),
    Aggregate("avg", "AVG({column})", "mean"),
    Aggregate("min", "MIN({column})", "least", types=ORDERED_TYPES, result=ResultType.SAME),
    Aggregate("max", "MAX({column})", "greatest", types=ORDERED_TYPES, result=ResultType.SAME),
    _quantile("median", "0.5", "median"),
    _quantile("p75", "0.75", "75th percentile"),
    _quantile("p90", "0.9", "90th percentile"),
    _quantile("p95", "0.95", "95th percentile"),
    _quantile("p99", "0.99", "99th percentile"),
)

BY_NAME = {aggregate.name: aggregate for aggregate in AGGREGATES}
