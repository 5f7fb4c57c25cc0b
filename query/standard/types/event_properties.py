"""Query types of the properties of custom events: their keys and the counts of their values.

Values are text as JSON writes them, strings without their quotes, cut at 512 characters. A value
that is null counts as absent.
"""

from typing import Annotated

from msgspec import Struct

from query.prepared.custom_events import CustomEventNames
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM
from query.sql.select import Cte
from query.standard.declaration.fields import FieldSpec, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import JoinColumns
from query.standard.sql.property_values import (
    MAX_FEW_VALUES,
    RANKED_VALUES,
    SAMPLE_VALUES,
    TOP_VALUES,
    VALUE_COUNTS,
    discovery,
    distribution,
    of_values,
    top_values,
)
from schemas.tables import EVENTS as STORED

SAMPLES = tuple(f"_{rank}" for rank in range(1, SAMPLE_VALUES + 1))


def present(*values: str | None) -> list[str]:
    """The values that are there."""
    return [value for value in values if value is not None]


SampleValues = Annotated[list[str], FieldSpec(SAMPLES, present, "list")]
"""The most frequent values of a property, one in each column."""


class PropertyValue(Struct, frozen=True):
    name: str
    property_key: str
    property_value: str
    count: int


class Cardinality(Struct, frozen=True):
    event_name: str
    property_key: str
    unique_values: int
    occurrences: int


class TopValue(Struct, frozen=True):
    event_name: str
    property_key: str
    property_value: str
    count: int
    total: int
    percentage: Percent
    rank: int


class Distribution(Struct, frozen=True):
    event_name: str
    property_key: str
    property_value: str
    count: int
    total: int
    percentage: Percent
    cardinality: int


class Discovery(Struct, frozen=True):
    event_name: str
    total_events: int
    unique_users: int
    unique_sessions: int
    property_key: str
    unique_values: int
    top_values: SampleValues


PROPERTY_KEYS = Cte(
    "property_keys",
    """
    SELECT name AS event_name, property_key AS key_name,
           COUNT(*)         AS distinct_values,
           SUM(occurrences) AS total_occurrences
      FROM value_counts
     GROUP BY name, property_key
    """,
)

EVENT_COUNTS = Cte(
    "event_counts",
    f"""
    SELECT name                         AS counted_event,
           COUNT(*)                     AS total_events,
           COUNT(DISTINCT visitor_hash) AS unique_users,
           COUNT(DISTINCT session_hash) AS unique_sessions
      FROM scoped
     WHERE {IS_CUSTOM}
     GROUP BY name
    """,  # noqa: S608
)


def sample_columns(field: str) -> str:
    """The most frequent values of each group of `ranked_values`, which is one property."""
    return ",\n".join(
        f"MAX(CASE WHEN row_rank = {rank} THEN value_text END) AS {field}{suffix}"
        for rank, suffix in enumerate(SAMPLES, 1)
    )


SAMPLED = ", ".join(f"sample{suffix}" for suffix in SAMPLES)
"""The names of these columns in a CTE, in their order."""

SAMPLED_KEYS = Cte(
    "sampled_keys",
    f"""
    SELECT name AS event_name, property_key AS key_name, COUNT(*) AS distinct_values,
           {sample_columns("sample")}
      FROM ranked_values
     GROUP BY name, property_key
    """,  # noqa: S608
)


def property_type(
    name: str,
    description: str,
    row: type[Struct],
    ctes: tuple[Cte, ...],
    sql: str,
    limit: int,
    join: JoinColumns | None = None,
) -> QueryType:
    """A query type over the properties of events."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=row,
        ctes=(VALUE_COUNTS, *ctes),
        sql=sql,
        default_limit=limit,
        prepared=CustomEventNames() if join else None,
        stored_columns=of_values(join) if join else None,
    )


PROPERTIES = (
    property_type(
        "custom_event_properties",
        "counts of each value of each property of each custom event",
        PropertyValue,
        (RANKED_VALUES,),
        """
            SELECT name, property_key, value_text, occurrences
              FROM ranked_values
             ORDER BY occurrences DESC, name, property_key, value_text
        """,
        10_000,
    ),
    property_type(
        "custom_events_property_cardinality",
        "number of distinct values of each property",
        Cardinality,
        (PROPERTY_KEYS,),
        """
            SELECT event_name, key_name, distinct_values, total_occurrences
              FROM property_keys
             ORDER BY total_occurrences DESC, event_name, key_name
        """,
        100,
    ),
    property_type(
        "custom_events_property_top_values",
        f"the {TOP_VALUES} most frequent values of each property",
        TopValue,
        (RANKED_VALUES,),
        f"""
            SELECT name, property_key, value_text, occurrences, total_occurrences,
                   occurrences       AS percentage_part,
                   total_occurrences AS percentage_whole,
                   row_rank
              FROM ranked_values
             WHERE row_rank <= {TOP_VALUES}
             ORDER BY name, property_key, row_rank
        """,  # noqa: S608
        10_000,
        top_values,
    ),
    property_type(
        "custom_events_property_distribution",
        f"the values of properties that have at most {MAX_FEW_VALUES} different ones",
        Distribution,
        (RANKED_VALUES,),
        f"""
            SELECT name, property_key, value_text, occurrences, total_occurrences,
                   occurrences       AS percentage_part,
                   total_occurrences AS percentage_whole,
                   distinct_values
              FROM ranked_values
             WHERE distinct_values <= {MAX_FEW_VALUES}
             ORDER BY name, property_key, occurrences DESC, value_text
        """,  # noqa: S608
        100,
        distribution,
    ),
    QueryType(
        name="custom_events_discovery",
        description=f"custom events with their properties and the {SAMPLE_VALUES} most frequent "
        f"values of each",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=Discovery,
        default_limit=200,
        max_limit=1_000,
        prepared=CustomEventNames(),
        stored_columns=of_values(discovery),
        ctes=(VALUE_COUNTS, RANKED_VALUES, SAMPLED_KEYS, EVENT_COUNTS),
        sql=f"""
            SELECT counted_event, total_events, unique_users, unique_sessions,
                   COALESCE(key_name, '')        AS key_label,
                   COALESCE(distinct_values, 0)  AS unique_values,
                   {SAMPLED}
              FROM event_counts
              LEFT JOIN sampled_keys ON event_name = counted_event
             ORDER BY total_events DESC, unique_values DESC, counted_event, key_label
        """,  # noqa: S608
    ),
)
