"""Query types of custom events: neither page views, nor page exits, nor outbound clicks."""

from msgspec import Struct

from query.prepared.custom_event_groups import CustomEventTotals as PreparedTotals
from query.prepared.custom_event_names import CustomEventNames
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM
from query.standard.declaration.fields import Instant, Percent
from query.standard.declaration.query_type import QueryType
from schemas.tables import EVENTS as STORED


class CustomEventRow(Struct, frozen=True):
    name: str
    total_events: int
    unique_users: int
    unique_sessions: int
    last_occurrence: Instant
    first_occurrence: Instant
    events_with_properties: int
    percentage: Percent


class CustomEventTotals(Struct, frozen=True):
    total_events: int
    unique_event_types: int
    unique_users: int
    unique_sessions: int
    unique_pages: int


EVENTS = (
    QueryType(
        name="custom_events",
        description="custom events, and their visitors, by name; percentage of the visitors summed "
        "over all names",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=CustomEventRow,
        default_limit=10_000,
        prepared=CustomEventNames(),
        sql=f"""
            SELECT name                                      AS label,
                   COUNT(*)                                  AS total_events,
                   COUNT(DISTINCT visitor_hash)              AS unique_users,
                   COUNT(DISTINCT session_hash)              AS unique_sessions,
                   MAX(ms)                                   AS last_occurrence,
                   MIN(ms)                                   AS first_occurrence,
                   COUNT(NULLIF(properties, '{{}}'))           AS events_with_properties,
                   COUNT(DISTINCT visitor_hash)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
              FROM scoped
             WHERE {IS_CUSTOM}
             GROUP BY name
             ORDER BY unique_users DESC, total_events DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="custom_events_summary",
        description="totals of custom events",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=CustomEventTotals,
        prepared=PreparedTotals(),
        sql=f"""
            SELECT COUNT(*)                     AS total_events,
                   COUNT(DISTINCT name)         AS unique_event_types,
                   COUNT(DISTINCT visitor_hash) AS unique_users,
                   COUNT(DISTINCT session_hash) AS unique_sessions,
                   COUNT(DISTINCT path)         AS unique_pages
              FROM scoped
             WHERE {IS_CUSTOM}
             ORDER BY total_events
        """,  # noqa: S608
    ),
)
