"""Query types that list sessions with their events."""

from typing import Annotated

from msgspec import Struct

from query.prepared.session_lists import SessionList
from query.request.subject import SubjectKind
from query.scope.session_rows import ENDED_MS, PAGE_VIEWS, STARTED_MS, of_first_view
from query.sql.row_definitions import EVENT_KIND, PAGE_VIEW, ROW_ORDER
from query.sql.select import Cte
from query.standard.declaration.fields import DurationSeconds, Instant, ListField, OptionalText
from query.standard.declaration.listing import (
    JoinedValue,
    Listing,
    NestedList,
    PageKeyQuery,
    PreparedKeys,
)
from query.standard.declaration.query_type import QueryType
from query.standard.types.session_groups import session_ctes
from query.standard.types.top_lists import TAGGED_SOURCE
from schemas.tables import EVENTS

MAX_SESSIONS = 500
MAX_EVENTS = 200

EVENT_ID = """COALESCE(event_id,
                   CASE WHEN epoch > 1 THEN CAST(epoch AS VARCHAR) || '-' ELSE '' END ||
                   CAST(kafka_partition AS VARCHAR) || '-' ||
                   CAST(kafka_offset AS VARCHAR) || '-' || CAST(seq AS VARCHAR))"""
"""Unique id of an event: that of its sender, else its topic epoch, partition, offset and index."""


class SessionEventEntry(Struct, frozen=True, array_like=True):
    """One event of a session, as a tuple."""

    id: str
    time: Instant
    name: str
    path: OptionalText
    properties: OptionalText


class Session(Struct, frozen=True):
    session_id: str
    first_visit: Instant
    last_visit: Instant
    duration: DurationSeconds
    page_views: int
    visitor_id: OptionalText
    country: OptionalText
    referrer: OptionalText
    device_type: OptionalText
    browser_name: OptionalText
    os_name: OptionalText
    source: str
    events: Annotated[list[SessionEventEntry], ListField]


class SessionEvent(Struct, frozen=True):
    session_id: str
    event_id: str
    time: Instant
    event_name: str
    path: OptionalText
    properties: OptionalText
    device_type: OptionalText
    browser_name: OptionalText
    country: OptionalText
    kind: str
    href: OptionalText


SESSION_FIRSTS = {"first_session_id": "session_id", "first_anonymous_id": "view_visitor_id"}
"""Columns of a list that are read from the first page view in the time range."""
SESSION_FACTS = {
    "session_country": "visit_country",
    "session_referrer": "COALESCE(visit_referrer_name, visit_referrer)",
    "session_device": "visit_device_type",
    "session_browser": "visit_browser_name",
    "session_os": "visit_os_name",
    "session_source": TAGGED_SOURCE,
}
"""Columns of a list that are facts of the visit."""

NUMBERED = Cte(
    "numbered_events",
    f"""
    SELECT session_id, {EVENT_ID} AS event_key, ms, name, path, properties,
           ROW_NUMBER() OVER (PARTITION BY session_hash ORDER BY {ROW_ORDER}) AS row_rank
      FROM scoped
     WHERE session_id IS NOT NULL
    """,  # noqa: S608
)

EVENTS_OF_SESSION = NestedList(
    field="events",
    row=SessionEventEntry,
    key=("session_id",),
    filter_column="session_id",
    of_whole_visits=True,
    table=EVENTS,
    ctes=(NUMBERED,),
    sql=f"""
        SELECT session_id, event_key, ms, name, path, properties
          FROM numbered_events
         WHERE row_rank <= {MAX_EVENTS}
         ORDER BY session_id, row_rank
    """,  # noqa: S608
)


PAGES = Cte(
    "page_counts",
    f"""
    SELECT session_hash         AS counted_session,
           COUNT(DISTINCT path) AS distinct_pages
      FROM visit_rows
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
     GROUP BY session_hash
    """,  # noqa: S608
)

JOIN_FACTS = "JOIN visit_facts ON visit_session = page_key"


def _of_fact(name: str) -> JoinedValue:
    return JoinedValue(SESSION_FACTS[f"session_{name}"], JOIN_FACTS)


FACT_ORDERS = {
    "country": _of_fact("country"),
    "referrer": _of_fact("referrer"),
    "device_type": _of_fact("device"),
    "browser_name": _of_fact("browser"),
    "os_name": _of_fact("os"),
}
"""The facts of the visit in the rows of lists, by field."""

NEWEST_SESSIONS = PageKeyQuery(
    column="session_hash",
    key="session_hash",
    first=STARTED_MS,
    last=ENDED_MS,
    rank=STARTED_MS,
    source=f"""
          FROM session_rows
         GROUP BY session_hash
        HAVING {PAGE_VIEWS} > 0
    """,
    orders={
        "session_id": of_first_view("session_id"),
        "first_visit": STARTED_MS,
        "last_visit": ENDED_MS,
        "page_views": PAGE_VIEWS,
        "visitor_id": of_first_view("view_visitor_id"),
    },
    joined_orders={**FACT_ORDERS, "source": _of_fact("source")},
    prepared=PreparedKeys(form=SessionList(with_events=False), own_order=("first_visit",)),
)

SESSION_LISTS = (
    QueryType(
        name="session_list",
        description="sessions, newest first, with their first 200 events",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Session,
        default_limit=25,
        max_limit=MAX_SESSIONS,
        ctes=session_ctes(SESSION_FIRSTS, facts=SESSION_FACTS),
        listing=Listing(page_keys=NEWEST_SESSIONS, nested_lists=(EVENTS_OF_SESSION,)),
        sql="""
            SELECT first_session_id, started_ms, ended_ms, duration_ms, page_views,
                   first_anonymous_id, session_country, session_referrer,
                   session_device, session_browser, session_os, session_source
              FROM session_summaries
             ORDER BY started_ms DESC, first_session_id
        """,
    ),
    QueryType(
        name="session_events",
        description="events of one session, ordered by time",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=SessionEvent,
        default_limit=500,
        required_filters=("session_id",),
        sql=f"""
            SELECT session_id,
                   {EVENT_ID} AS event_key,
                   ms,
                   name,
                   path,
                   properties,
                   device_type,
                   browser_name,
                   country,
                   {EVENT_KIND} AS kind,
                   href,
                   epoch,
                   kafka_partition,
                   kafka_offset,
                   seq
              FROM scoped
             WHERE session_id IS NOT NULL
             ORDER BY {ROW_ORDER}
        """,  # noqa: S608
    ),
)
