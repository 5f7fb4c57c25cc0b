"""AGGREGATES of custom and metrics queries."""

from enum import StrEnum

from msgspec import Struct

from schemas.tables import ColumnType

NUMBER_TYPES = frozenset({ColumnType.LONG, ColumnType.INTEGER, ColumnType.DECIMAL})
ORDERED_TYPES = NUMBER_TYPES | {ColumnType.TIMESTAMP}
AVERAGED_TYPES = NUMBER_TYPES | {ColumnType.BOOLEAN}
ALL_TYPES = frozenset(ColumnType)


class ResultType(StrEnum):
    """The type of the result."""

    NUMBER = "number"
    SAME = "same"
    """The type of the column."""


class Aggregate(Struct, frozen=True):
    """One aggregate; `{column}` is replaced by our portable SQL expression."""

    name: str
    sql: str
    description: str
    types: frozenset[ColumnType] = NUMBER_TYPES
    result: ResultType = ResultType.NUMBER

    @property
    def is_arithmetic(self) -> bool:
        """Whether it computes with the values, so that one may be too large."""
        return self.types <= AVERAGED_TYPES


def _quantile(name: str, share: str, meaning: str) -> Aggregate:
    # Exact and interpolated; other engines only estimate, see DECISIONS.md.
    return Aggregate(name, f"EXACT_QUANTILE(CAST({{column}} AS DOUBLE), {share})", meaning)


AGGREGATES = (
    Aggregate(
        "count", "COUNT({column})", "rows in which it is not null; `*` counts all", types=ALL_TYPES
    ),
    Aggregate(
        "uniq", "COUNT(DISTINCT {column})", "exact number of distinct values", types=ALL_TYPES
    ),
    Aggregate("sum", "SUM({column})", "sum"),
    Aggregate(
        "avg",
        "AVG({column})",
        "mean; of true and false the share of true, from 0 to 1",
        types=AVERAGED_TYPES,
    ),
    Aggregate("min", "MIN({column})", "minimum", types=ORDERED_TYPES, result=ResultType.SAME),
    Aggregate("max", "MAX({column})", "maximum", types=ORDERED_TYPES, result=ResultType.SAME),
    _quantile("median", "0.5", "median"),
    _quantile("p75", "0.75", "75th percentile"),
    _quantile("p90", "0.9", "90th percentile"),
    _quantile("p95", "0.95", "95th percentile"),
    _quantile("p99", "0.99", "99th percentile"),
)

BY_NAME = {aggregate.name: aggregate for aggregate in AGGREGATES}
