"""AGGREGATES: what a custom query may compute from a column."""

from enum import StrEnum

from msgspec import Struct

from schemas.tables import Type

NUMBERS = frozenset({Type.LONG, Type.INTEGER, Type.DECIMAL})
ORDERED = NUMBERS | {Type.TIMESTAMP}
ANY = frozenset(Type)


class Gives(StrEnum):
    """What kind of value comes out."""

    NUMBER = "number"
    SAME = "same"
    """A value of the column."""


class Aggregate(Struct, frozen=True):
    """One aggregate; `{column}` is filled in with our own expression."""

    name: str
    sql: str
    meaning: str
    fits: frozenset[Type] = NUMBERS
    gives: Gives = Gives.NUMBER


def _quantile(name: str, share: str, meaning: str) -> Aggregate:
    # Exact and interpolated. Other engines only estimate, see README.
    return Aggregate(name, f"quantile_cont(CAST({{column}} AS DOUBLE), {share})", meaning)


AGGREGATES = (
    Aggregate("count", "COUNT({column})", "rows that have it; `*` counts all", fits=ANY),
    Aggregate("uniq", "COUNT(DISTINCT {column})", "distinct values, exactly", fits=ANY),
    Aggregate("sum", "SUM({column})", "sum"),
    Aggregate("avg", "AVG({column})", "mean"),
    Aggregate("min", "MIN({column})", "least", fits=ORDERED, gives=Gives.SAME),
    Aggregate("max", "MAX({column})", "greatest", fits=ORDERED, gives=Gives.SAME),
    _quantile("median", "0.5", "median"),
    _quantile("p75", "0.75", "75th percentile"),
    _quantile("p90", "0.9", "90th percentile"),
    _quantile("p95", "0.95", "95th percentile"),
    _quantile("p99", "0.99", "99th percentile"),
)

BY_NAME = {aggregate.name: aggregate for aggregate in AGGREGATES}
