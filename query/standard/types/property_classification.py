"""Properties of custom events, classified by the kind of their values."""

from fractions import Fraction
from typing import Annotated

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM
from query.sql.select import Cte
from query.standard.declaration.fields import Average, FieldSpec, rounded
from query.standard.declaration.query_type import QueryType
from query.standard.types.event_properties import (
    MAX_FEW_VALUES,
    RANKED_VALUES,
    SAMPLED,
    VALUE_COUNTS,
    SampleValues,
    sample_columns,
)
from schemas.tables import EVENTS as STORED

MAX_DISTINCT = 1_000
"""Distinct values above which text is only counted."""


def ratio(part: int | None, whole: int | None) -> float:
    """`part` of `whole`, to four decimals."""
    return rounded(Fraction(part or 0, whole), 4) if whole else 0.0


KINDS = {
    "boolean": ("is_boolean = 1", "distribution"),
    "numeric": ("is_numeric = 1", "aggregate"),
    "datetime": ("is_date_like = 1", "aggregate"),
    "url": ("is_url_like = 1", "top_values"),
    "categorical": (f"distinct_values <= {MAX_FEW_VALUES}", "distribution"),
    "text": (f"distinct_values <= {MAX_DISTINCT}", "top_values"),
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
    sample_values: SampleValues


def all_values(condition: str) -> str:
    """1 when all values meet the condition."""
    return f"MIN(CASE WHEN {condition} THEN 1 ELSE 0 END)"


CLASSIFIED = Cte(
    "classified",
    f"""
    SELECT name AS event_name, property_key AS key_name,
           COUNT(*)                              AS distinct_values,
           SUM(occurrences)                      AS total_occurrences,
           MAX(LENGTH(value_text))               AS longest_value,
           SUM(LENGTH(value_text) * occurrences) AS avg_length_sum,
           SUM(occurrences)                      AS avg_length_count,
           {all_values("TRY_CAST(value_text AS DECIMAL(38, 10)) IS NOT NULL")} AS is_numeric,
           {all_values("LOWER(value_text) IN ('true', 'false')")}              AS is_boolean,
           {all_values("value_text LIKE '____-__-__%'")}                       AS is_date_like,
           {all_values("value_text LIKE 'http://%' OR value_text LIKE 'https://%'")} AS is_url_like,
           {sample_columns("sample")}
      FROM ranked_values
     GROUP BY name, property_key
    """,  # noqa: S608
)
EVENT_TOTALS = Cte(
    "event_totals",
    f"""
    SELECT name AS counted_event, COUNT(*) AS total_events
      FROM scoped
     WHERE {IS_CUSTOM}
     GROUP BY name
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
