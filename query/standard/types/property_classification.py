"""Properties of custom events, classified by the kind of their values."""

from fractions import Fraction
from typing import Annotated

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.select import Cte
from query.standard.declaration.fields import Average, FieldSpec, ListField, rounded
from query.standard.declaration.listing import Listing
from query.standard.declaration.query_type import QueryType
from query.standard.types.event_properties import HAPPENED, MAX_FEW_VALUES, OWN, top_values
from schemas.tables import EVENTS as STORED

MAX_DISTINCT = 1_000
"""Distinct values above which text is only counted."""


def ratio(part: int | None, whole: int | None) -> float:
    """`part` of `whole`, to four decimals."""
    return rounded(Fraction(part or 0, whole), 4) if whole else 0.0


KINDS = {
    "boolean": ("booleans = 1", "distribution"),
    "numeric": ("numbers = 1", "aggregate"),
    "datetime": ("dates = 1", "aggregate"),
    "url": ("urls = 1", "top_values"),
    "categorical": (f"different <= {MAX_FEW_VALUES}", "distribution"),
    "text": (f"different <= {MAX_DISTINCT}", "top_values"),
    "high_cardinality": ("TRUE", "count"),
}
"""Each kind: when all values are of it, and how they are best shown; the first that fits holds."""

KIND = " ".join(f"WHEN {holds} THEN '{name}'" for name, (holds, _) in KINDS.items())
STRATEGY = " ".join(f"WHEN {holds} THEN '{display}'" for holds, display in KINDS.values())


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
    sample_values: Annotated[list[str], ListField]


def all_values(condition: str) -> str:
    """1 when all values meet the condition."""
    return f"MIN(CASE WHEN {condition} THEN 1 ELSE 0 END)"


CLASSIFIED = Cte(
    "judged",
    f"""
    SELECT name AS event, property_key AS key_name,
           COUNT(*)                         AS different,
           SUM(times)                       AS occurred,
           MAX(LENGTH(held_value))          AS longest,
           SUM(LENGTH(held_value) * times)  AS avg_length_sum,
           SUM(times)                       AS avg_length_count,
           {all_values("TRY_CAST(held_value AS DECIMAL(38, 10)) IS NOT NULL")} AS numbers,
           {all_values("LOWER(held_value) IN ('true', 'false')")}              AS booleans,
           {all_values("held_value LIKE '____-__-__%'")}                       AS dates,
           {all_values("held_value LIKE 'http://%' OR held_value LIKE 'https://%'")} AS urls
      FROM own
     GROUP BY name, property_key
    """,  # noqa: S608
)


CLASSIFICATION = (
    QueryType(
        name="custom_events_property_classification",
        description="kind of the values of each property, inferred from all of them",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=PropertyClassification,
        default_limit=500,
        max_limit=1_000,
        ctes=(OWN, HAPPENED, CLASSIFIED),
        listing=Listing(nested_lists=(top_values("sample_values"),)),
        sql=f"""
            SELECT event,
                   key_name,
                   different,
                   occurred     AS total_count,
                   occurred     AS coverage_ratio_part,
                   total_events AS coverage_ratio_whole,
                   avg_length_sum,
                   avg_length_count,
                   longest,
                   numbers,
                   booleans,
                   dates,
                   urls,
                   CASE {KIND} END AS kind,
                   CASE {STRATEGY} END AS strategy
              FROM judged
              JOIN happened ON event_kind = event
             ORDER BY total_count DESC, event, key_name
        """,  # noqa: S608
    ),
)
