"""Questions that list sessions, with what happened in them."""

from typing import Annotated

from msgspec import Struct

from query.standard.declaration.fields import Instant, Listed, Text
from query.standard.declaration.query_type import Choice, Cte, Detail, QueryType, Subject
from query.standard.sql.definitions import ORDER, PAGE_VIEW, VIEWS
from query.standard.types.session_groups import journeys
from schemas.tables import EVENTS

MOST_SESSIONS = 500
MOST_EVENTS = 200

EVENT_ID = """COALESCE(event_id,
                   CASE WHEN epoch > 1 THEN CAST(epoch AS VARCHAR) || '-' ELSE '' END ||
                   CAST(kafka_partition AS VARCHAR) || '-' ||
                   CAST(kafka_offset AS VARCHAR) || '-' || CAST(seq AS VARCHAR))"""
"""What tells an event from every other: its sender's id, or else where it came from."""


class Happened(Struct, frozen=True, array_like=True):
    """One event of a session, as a tuple."""

    id: str
    time: Instant
    name: str
    path: Text
    properties: Text


class Session(Struct, frozen=True):
    session_id: str
    first_visit: Instant
    last_visit: Instant
    page_views: int
    visitor_id: Text
    country: Text
    referrer: Text
    device_type: Text
    browser_name: Text
    os_name: Text
    events: Annotated[list[Happened], Listed]


class SessionEvent(Struct, frozen=True):
    session_id: str
    event_id: str
    time: Instant
    event_name: str
    path: Text
    properties: Text
    device_type: Text
    browser_name: Text
    country: Text


FACTS = {
    "known": "session_id",
    "who": "anonymous_id",
    "land": "country",
    "came_from": "COALESCE(referrer_name, referrer)",
    "device": "device_type",
    "browser": "browser_name",
    "system": "os_name",
}
"""What a list says of a session's first page view."""

NUMBERED = Cte(
    "numbered",
    f"""
    SELECT session_id, {EVENT_ID} AS event_key, ms, name, path, properties,
           ROW_NUMBER() OVER (PARTITION BY session_hash ORDER BY {ORDER}) AS place
      FROM scoped
     WHERE session_id IS NOT NULL
    """,  # noqa: S608
)

EVENTS_OF_SESSION = Detail(
    field="events",
    row=Happened,
    key=("session_id",),
    by="session_id",
    table=EVENTS,
    given=(NUMBERED,),
    sql=f"""
        SELECT session_id, event_key, ms, name, path, properties
          FROM numbered
         WHERE place <= {MOST_EVENTS}
         ORDER BY session_id, place
    """,  # noqa: S608
)


PAGES = Cte(
    "pages",
    f"""
    SELECT session_hash         AS viewer,
           COUNT(DISTINCT path) AS different
      FROM scoped
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
     GROUP BY session_hash
    """,  # noqa: S608
)

BEGUN = Choice(
    key="session_hash",
    sql=f"""
        SELECT session_hash AS chosen,
               MIN(ms)      AS began,
               MAX(ms)      AS ended,
               MIN(ms)      AS standing
          FROM scoped
         WHERE session_hash IS NOT NULL
         GROUP BY session_hash
        HAVING {VIEWS} > 0
    """,  # noqa: S608
)

SESSION_LISTS = (
    QueryType(
        name="session_list",
        meaning="sessions, newest first, with their first 200 events",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Session,
        limit=25,
        most=MOST_SESSIONS,
        choice=BEGUN,
        given=journeys(FACTS),
        details=(EVENTS_OF_SESSION,),
        sql="""
            SELECT known, began, ended, views, who, land, came_from, device, browser, system
              FROM journeys
             ORDER BY began DESC, known
        """,
    ),
    QueryType(
        name="session_events",
        meaning="the events of one session in the order of time",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=SessionEvent,
        limit=500,
        needs=("session_id",),
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
                   epoch,
                   kafka_partition,
                   kafka_offset,
                   seq
              FROM scoped
             WHERE session_id IS NOT NULL
             ORDER BY {ORDER}
        """,  # noqa: S608
    ),
)
