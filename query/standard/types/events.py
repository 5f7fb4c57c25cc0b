"""Query types of custom events: neither page views, nor page exits, nor outbound clicks."""

from msgspec import Struct

from query.prepared.custom_events import CustomEventNames
from query.prepared.custom_events import CustomEventTotals as PreparedTotals
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM
from query.standard.declaration.fields import Instant, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import grouped_rows
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
        sql=grouped_rows(
            CustomEventRow,
            {"name": "name"},
            where=IS_CUSTOM,
            first=("unique_users", "total_events"),
            measures={"events_with_properties": "COUNT(NULLIF(properties, '{}'))"},
        ),
    ),
    QueryType(
        name="custom_events_summary",
        description="totals of custom events",
        subject=SubjectKind.WEBSITE,
        table=STORED,
        row=CustomEventTotals,
        prepared=PreparedTotals(),
        sql=grouped_rows(
            CustomEventTotals,
            where=IS_CUSTOM,
            measures={
                "unique_event_types": "COUNT(DISTINCT name)",
                "unique_pages": "COUNT(DISTINCT path)",
            },
        ),
    ),
)
