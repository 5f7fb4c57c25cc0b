"""Questions that list sessions, with what happened in them."""

from typing import Annotated

from msgspec import Struct

from query.standard.forms import Instant, Listed, Text
from query.standard.kinds import AWAY, CUSTOM
from query.standard.sessions import ORDER, PAGE_VIEW, VIEWS
from query.standard.sessions_by import journeys
from query.standard.spec import Choice, Cte, Detail, QueryType, Subject
from schemas.tables import ERRORS, EVENTS

MOST_SESSIONS = 500
MOST_EVENTS = 200

EVENT_ID = """COALESCE(event_id, CAST(kafka_partition AS VARCHAR) || '-' ||
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


class InterestingSession(Struct, frozen=True):
    session_id: str
    visitor_id: Text
    first_visit: Instant
    last_visit: Instant
    duration_seconds: int
    page_views: int
    unique_pages: int
    analytics_engagement_events: int
    custom_events: int
    errors: int
    paths: Annotated[list[str], Listed]
    custom_event_names: Annotated[list[str], Listed]
    country: Text
    referrer: Text
    device_type: Text
    browser_name: Text
    os_name: Text
    interesting_score: int


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


def distinct(field: str, column: str, only: str) -> Detail:
    """The different values of a column in a session, in alphabetical order."""
    return Detail(
        field=field,
        row=None,
        key=("session_id",),
        by="session_id",
        table=EVENTS,
        sql=f"""
            SELECT DISTINCT session_id, {column}
              FROM scoped
             WHERE {only}
               AND {column} IS NOT NULL
             ORDER BY session_id, {column}
        """,  # noqa: S608
    )


DONE = {"engaged": AWAY, "customs": CUSTOM}

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

FAILED = Cte(
    "failed",
    """
    SELECT session_hash AS failer,
           COUNT(*)     AS failures
      FROM scoped_errors
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    """,
)

SCORE = """LEAST(views, 10) * 2 + LEAST(different, 8) * 3 + LEAST(engaged + customs, 20)
                   + LEAST(COALESCE(failures, 0), 10) * 2
                   + CASE WHEN lasted >= 120000 THEN 5 ELSE 0 END"""

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

# The score and the end as one number: the end takes less than 13 digits.
SCORED = Choice(
    key="session_hash",
    given=(*journeys(counts=DONE), PAGES, FAILED),
    sql=f"""
        SELECT visit AS chosen, began, ended,
               CAST({SCORE} AS BIGINT) * 10000000000000 + ended AS standing
          FROM journeys
          JOIN pages ON viewer = visit
          LEFT JOIN failed ON failer = visit
    """,  # noqa: S608
)

SESSION_LISTS = (
    QueryType(
        name="interesting_sessions",
        meaning="sessions in which most happened; the README says how they are scored",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=InterestingSession,
        limit=10,
        most=MOST_SESSIONS,
        beside=(ERRORS,),
        choice=SCORED,
        given=(*journeys(FACTS, DONE), PAGES, FAILED),
        details=(
            distinct("paths", "path", PAGE_VIEW),
            distinct("custom_event_names", "name", CUSTOM),
        ),
        sql=f"""
            SELECT known,
                   who,
                   began,
                   ended,
                   lasted // 1000         AS duration_seconds,
                   views,
                   different,
                   engaged,
                   customs,
                   COALESCE(failures, 0)  AS failures,
                   land,
                   came_from,
                   device,
                   browser,
                   system,
                   {SCORE}                AS score
              FROM journeys
              JOIN pages ON viewer = visit
              LEFT JOIN failed ON failer = visit
             ORDER BY score DESC, ended DESC, known
        """,  # noqa: S608
    ),
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
                   kafka_partition,
                   kafka_offset,
                   seq
              FROM scoped
             WHERE session_id IS NOT NULL
             ORDER BY {ORDER}
        """,  # noqa: S608
    ),
)
