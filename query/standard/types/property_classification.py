"""Properties of custom events, classified by the kind of their values."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Annotated

from msgspec import Struct

from query.engine.engine import Row
from query.prepared.custom_events import CustomEventNames
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM
from query.sql.select import Cte
from query.standard.declaration.fields import Average, FieldSpec, rounded
from query.standard.declaration.query_type import QueryType
from query.standard.sql.property_values import (
    MAX_FEW_VALUES,
    RANKED_VALUES,
    VALUE_COUNTS,
    RankedValue,
    classified,
    of_values,
    properties,
    samples,
)
from query.standard.types.event_properties import SAMPLED, SampleValues, sample_columns
from schemas.tables import EVENTS as STORED

MAX_DISTINCT = 1_000
"""Distinct values above which text is only counted."""


def ratio(part: int | None, whole: int | None) -> float:
    """`part` of `whole`, to four decimals."""
    return rounded(Fraction(part or 0, whole), 4) if whole else 0.0


class ValueKind(Struct, frozen=True):
    """A kind of values: when all of a property are of it, and how they are best shown."""

    name: str
    sql: str
    holds: Callable[[RankedValue], bool]
    """The same as the SQL."""
    display: str


KINDS = (
    ValueKind("boolean", "is_boolean = 1", lambda v: v.is_boolean == 1, "distribution"),
    ValueKind("numeric", "is_numeric = 1", lambda v: v.is_numeric == 1, "aggregate"),
    ValueKind("datetime", "is_date_like = 1", lambda v: v.is_date_like == 1, "aggregate"),
    ValueKind("url", "is_url_like = 1", lambda v: v.is_url_like == 1, "top_values"),
    ValueKind(
        "categorical",
        f"distinct_values <= {MAX_FEW_VALUES}",
        lambda v: v.distinct <= MAX_FEW_VALUES,
        "distribution",
    ),
    ValueKind(
        "text",
        f"distinct_values <= {MAX_DISTINCT}",
        lambda v: v.distinct <= MAX_DISTINCT,
        "top_values",
    ),
    ValueKind("high_cardinality", "TRUE", lambda _: True, "count"),
)
"""The first that fits holds."""

KIND = " ".join(f"WHEN {kind.sql} THEN '{kind.name}'" for kind in KINDS)
STRATEGY = " ".join(f"WHEN {kind.sql} THEN '{kind.display}'" for kind in KINDS)


class PropertyClassification(Struct, frozen=True):
    event_name: str
    property_key: str
    cardinality: int
    total_count: int
    coverage_ratio: Annotated[float, FieldSpec(("_part", "_whole"), ratio, "ratio")]
    avg_length: Average
    max_length: int
    is_numeric: int
    is_boolean: int
    is_date_like: int
    is_url_like: int
    inferred_type: str
    render_strategy: str
    sample_values: SampleValues


CLASSIFIED = classified(f", {sample_columns('sample')}")
EVENT_TOTALS = Cte(
    "event_totals",
    f"""
    SELECT name AS counted_event, COUNT(*) AS total_events
      FROM scoped
     WHERE {IS_CUSTOM}
     GROUP BY name
    """,  # noqa: S608
)


def classification(events: Sequence[Row], stored: Sequence[Row]) -> list[Row]:
    """The rows of the type, from custom events by name and from the values of their properties."""
    totals = {name: total for name, total, *_ in events}
    of_keys = chain.from_iterable(properties(stored).values())
    rows = [_classified(values, totals[values[0].event]) for values in of_keys]
    return sorted(rows, key=lambda row: (-row[3], row[0], row[1]))


def _classified(values: Sequence[RankedValue], events: int) -> Row:
    """The row of a property, from its values and the number of its events."""
    own = values[0]
    kind = next(kind for kind in KINDS if kind.holds(own))
    lengths = own.length_sum, own.total, own.longest
    flags = own.is_numeric, own.is_boolean, own.is_date_like, own.is_url_like
    counts = own.distinct, own.total, own.total, events
    shown = kind.name, kind.display, *samples(values)
    return (own.event, own.key, *counts, *lengths, *flags, *shown)


CLASSIFICATION = (
    QueryType(
        name="custom_events_property_classification",
        description="kind of the values of each property, inferred from all of them",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=PropertyClassification,
        default_limit=500,
        max_limit=1_000,
        prepared=CustomEventNames(),
        stored_columns=of_values(classification),
        ctes=(VALUE_COUNTS, RANKED_VALUES, CLASSIFIED, EVENT_TOTALS),
        sql=f"""
            SELECT event_name,
                   key_name,
                   distinct_values,
                   total_occurrences AS total_count,
                   total_occurrences AS coverage_ratio_part,
                   total_events      AS coverage_ratio_whole,
                   avg_length_sum,
                   avg_length_count,
                   longest_value,
                   is_numeric,
                   is_boolean,
                   is_date_like,
                   is_url_like,
                   CASE {KIND} END AS inferred_type,
                   CASE {STRATEGY} END AS render_strategy,
                   {SAMPLED}
              FROM classified
              JOIN event_totals ON counted_event = event_name
             ORDER BY total_count DESC, event_name, key_name
        """,  # noqa: S608
    ),
)
