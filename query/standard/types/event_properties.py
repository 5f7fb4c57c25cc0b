"""Query types of the properties of custom events: their keys and the counts of their values.

Values are text as JSON writes them, strings without their quotes, cut at 512 characters. A value
that is null counts as absent.
"""

from typing import Annotated

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM
from query.sql.select import Cte
from query.standard.declaration.fields import ListField, Percent
from query.standard.declaration.listing import Listing, NestedList
from query.standard.declaration.query_type import QueryType
from schemas.tables import EVENTS as STORED

MAX_VALUE_LENGTH = 512
MAX_FEW_VALUES = 20
TOP_VALUES = 10
SAMPLE_VALUES = 5

VALUE = f"SUBSTR(property_value, 1, {MAX_VALUE_LENGTH})"


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
    top_values: Annotated[list[str], ListField]


# Page views, exits and clicks away carry facts of ours; only the sender's own events are counted.
OWN = Cte(
    "own",
    f"""
    SELECT name, property_key, {VALUE} AS held_value, COUNT(*) AS times
      FROM entries
     WHERE {IS_CUSTOM}
     GROUP BY name, property_key, {VALUE}
    """,  # noqa: S608
)
"""A row for each value of each property, with its count."""

VALUES = Cte(
    "tallied",
    """
    SELECT name, property_key, held_value, times,
           SUM(times) OVER (PARTITION BY name, property_key) AS together,
           COUNT(*) OVER (PARTITION BY name, property_key)   AS different,
           ROW_NUMBER() OVER (
               PARTITION BY name, property_key ORDER BY times DESC, held_value
           )                                                 AS row_rank
      FROM own
    """,
)

KEYS = Cte(
    "keyed",
    """
    SELECT name AS event, property_key AS key_name,
           COUNT(*)   AS different,
           SUM(times) AS occurred
      FROM own
     GROUP BY name, property_key
    """,
)

HAPPENED = Cte(
    "happened",
    f"""
    SELECT name                         AS event_kind,
           COUNT(*)                     AS total_events,
           COUNT(DISTINCT visitor_hash) AS users,
           COUNT(DISTINCT session_hash) AS visits
      FROM scoped
     WHERE {IS_CUSTOM}
     GROUP BY name
    """,  # noqa: S608
)


def top_values(field: str) -> NestedList:
    """The most frequent values of a property."""
    return NestedList(
        field=field,
        row=None,
        key=("event_name", "property_key"),
        filter_column="name",
        table=STORED,
        ctes=(OWN, VALUES),
        sql=f"""
            SELECT name, property_key, held_value
              FROM tallied
             WHERE row_rank <= {SAMPLE_VALUES}
             ORDER BY name, property_key, row_rank
        """,  # noqa: S608
    )


def property_type(
    name: str, description: str, row: type[Struct], ctes: tuple[Cte, ...], sql: str, limit: int
) -> QueryType:
    """A query type over the properties of events."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=row,
        ctes=(OWN, *ctes),
        sql=sql,
        default_limit=limit,
    )


PROPERTIES = (
    property_type(
        "custom_event_properties",
        "counts of each value of each property of each custom event",
        PropertyValue,
        (VALUES,),
        """
            SELECT name, property_key, held_value, times
              FROM tallied
             ORDER BY times DESC, name, property_key, held_value
        """,
        10_000,
    ),
    property_type(
        "custom_events_property_cardinality",
        "number of distinct values of each property",
        Cardinality,
        (KEYS,),
        """
            SELECT event, key_name, different, occurred
              FROM keyed
             ORDER BY occurred DESC, event, key_name
        """,
        100,
    ),
    property_type(
        "custom_events_property_top_values",
        f"the {TOP_VALUES} most frequent values of each property",
        TopValue,
        (VALUES,),
        f"""
            SELECT name, property_key, held_value, times, together,
                   times    AS percentage_part,
                   together AS percentage_whole,
                   row_rank
              FROM tallied
             WHERE row_rank <= {TOP_VALUES}
             ORDER BY name, property_key, row_rank
        """,  # noqa: S608
        10_000,
    ),
    property_type(
        "custom_events_property_distribution",
        f"the values of properties that have at most {MAX_FEW_VALUES} different ones",
        Distribution,
        (VALUES,),
        f"""
            SELECT name, property_key, held_value, times, together,
                   times    AS percentage_part,
                   together AS percentage_whole,
                   different
              FROM tallied
             WHERE different <= {MAX_FEW_VALUES}
             ORDER BY name, property_key, times DESC, held_value
        """,  # noqa: S608
        100,
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
        ctes=(OWN, KEYS, HAPPENED),
        listing=Listing(nested_lists=(top_values("top_values"),)),
        sql="""
            SELECT event_kind, total_events, users, visits,
                   COALESCE(key_name, '')  AS key_shown,
                   COALESCE(different, 0)  AS different_values
              FROM happened
              LEFT JOIN keyed ON event = event_kind
             ORDER BY total_events DESC, different_values DESC, event_kind, key_shown
        """,
    ),
)
