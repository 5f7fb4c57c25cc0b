"""Questions about single visitors: who came, what one did, and in which sessions."""

from typing import Annotated

from msgspec import Struct

from query.standard.declaration.fields import Form, Instant, Listed, Text, mean_seconds
from query.standard.declaration.query_type import Choice, Cte, Detail, QueryType, Subject
from query.standard.sql.definitions import ORDER, PAGE_VIEW, latest
from query.standard.sql.event_conditions import CUSTOM
from query.standard.types.session_groups import journeys, viewed
from query.standard.types.session_lists import EVENTS_OF_SESSION, MOST_SESSIONS, PAGES, Happened
from schemas.tables import EVENTS, IDENTITIES, VITALS


def spoken(ms: int | None) -> str:
    """Milliseconds as hours, minutes and seconds, such as `1h 2m 3s`."""
    seconds = (ms or 0) // 1000
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    parts = [(hours, "h"), (minutes, "m"), (rest, "s")]
    return " ".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def seconds(ms: int | None) -> float:
    """Milliseconds in seconds."""
    return mean_seconds(ms, 1)


Lasted = Annotated[float, Form(("",), seconds, "seconds")]
Spoken = Annotated[str, Form(("",), spoken, "duration")]


class Profile(Struct, frozen=True):
    visitor_id: str
    profile_id: Text
    first_visit: Instant
    last_visit: Instant
    session_count: int
    total_events: int
    page_views: int
    unique_pages: int
    country: Text
    region: Text
    device_type: Text
    browser_name: Text
    os_name: Text
    referrer: Text
    custom_event_count: int
    unique_event_names: int


class ProfileDetail(Struct, frozen=True):
    visitor_id: str
    first_visit: Instant
    last_visit: Instant
    total_sessions: int
    total_pageviews: int
    total_duration: Lasted
    total_duration_formatted: Spoken
    device: Text
    browser: Text
    os: Text
    country: Text
    region: Text
    profile_id: Text
    traits: Text


class Measured(Struct, frozen=True, array_like=True):
    """One web vital of a session, as a tuple."""

    time: Instant
    metric_name: str
    metric_value: float
    path: Text


class ProfileSession(Struct, frozen=True):
    session_id: str
    session_name: str
    first_visit: Instant
    last_visit: Instant
    duration: Lasted
    duration_formatted: Spoken
    page_views: int
    unique_pages: int
    device: Text
    browser: Text
    os: Text
    country: Text
    region: Text
    referrer: Text
    events: Annotated[list[Happened], Listed]
    web_vitals: Annotated[list[Measured], Listed]


# What is said of a visitor is of the newest page view, and of the first one how they came.


def last(column: str) -> str:
    """The column of the visitor's newest page view."""
    return f"{latest(column)} FILTER (WHERE {PAGE_VIEW})"


PERSONS = Cte(
    "persons",
    f"""
    SELECT visitor_hash      AS person,
           MIN(anonymous_id) AS who,
           COALESCE(MAX(profile_id) FILTER (WHERE trusted), MAX(profile_id)) AS told,
           MIN(ms)           AS began,
           MAX(ms)           AS ended,
           COUNT(DISTINCT CASE WHEN {PAGE_VIEW} THEN session_hash END) AS visits,
           COUNT(*)                                                   AS happened,
           COUNT(*) FILTER (WHERE {PAGE_VIEW})                        AS viewed,
           COUNT(DISTINCT CASE WHEN {PAGE_VIEW} THEN path END)        AS pages,
           COUNT(*) FILTER (WHERE {CUSTOM})                           AS customs,
           COUNT(DISTINCT CASE WHEN {CUSTOM} THEN name END)           AS kinds,
           {last("country")}      AS land,
           {last("region")}       AS area,
           {last("device_type")}  AS device,
           {last("browser_name")} AS browser,
           {last("os_name")}      AS system,
           {viewed("COALESCE(referrer_name, referrer)")} AS origin
      FROM scoped
     WHERE visitor_hash IS NOT NULL
     GROUP BY visitor_hash
    """,  # noqa: S608
)

# Anybody may say from a page who a visitor is. Once a server has said it with its key, only servers
# are believed. Rows that are older than the column have it in what is kept of their sender.
KEYED = """COALESCE(trusted, sender LIKE '%"trusted":true%', FALSE)"""

KNOWN = Cte(
    "known",
    f"""
    SELECT visitor_hash                                              AS bearer,
           {latest("profile_id")}                                    AS called,
           {latest("traits")} FILTER (WHERE traits IS NOT NULL)      AS described
      FROM (
           SELECT visitor_hash, profile_id, traits, trusted, sender, {ORDER},
                  MAX({KEYED}) OVER (PARTITION BY visitor_hash) AS vouched
             FROM scoped_identities
            WHERE visitor_hash IS NOT NULL
           )
     WHERE {KEYED} = vouched
     GROUP BY visitor_hash
    """,  # noqa: S608
)

TOGETHER = Cte(
    "together",
    """
    SELECT SUM(lasted) AS whole
      FROM journeys
    """,
)

WALKS = journeys(
    {
        "known": "session_id",
        "land": "country",
        "area": "region",
        "came_from": "COALESCE(referrer_name, referrer)",
        "device": "device_type",
        "browser": "browser_name",
        "system": "os_name",
    }
)

VITALS_OF_SESSION = Detail(
    field="web_vitals",
    row=Measured,
    key=("session_id",),
    by="session_id",
    table=VITALS,
    sql=f"""
        SELECT session_id, ms, metric_name, CAST(metric_value AS DOUBLE) AS measured, path
          FROM scoped
         ORDER BY session_id, {ORDER}
    """,  # noqa: S608
)

SEEN = Choice(
    key="visitor_hash",
    sql="""
        SELECT visitor_hash AS chosen,
               MIN(ms)      AS began,
               MAX(ms)      AS ended,
               MAX(ms)      AS standing
          FROM scoped
         WHERE visitor_hash IS NOT NULL
         GROUP BY visitor_hash
    """,
)

PROFILES = (
    QueryType(
        name="profile_list",
        meaning="visitors, the latest first, with what they did; agent and place as last seen",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Profile,
        limit=25,
        choice=SEEN,
        given=(PERSONS,),
        sql="""
            SELECT who, told, began, ended, visits AS session_count, happened, viewed, pages,
                   land, area, device, browser, system, origin,
                   customs AS custom_event_count, kinds
              FROM persons
             ORDER BY ended DESC, who
        """,
    ),
    QueryType(
        name="profile_detail",
        meaning="one visitor, with the id and traits by which the website knows them, as last told "
        "by who has a key, else by anybody",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=ProfileDetail,
        needs=("anonymous_id",),
        beside=(IDENTITIES,),
        given=(PERSONS, *journeys(), TOGETHER, KNOWN),
        sql="""
            SELECT who, began, ended, visits, viewed,
                   whole AS together_ms,
                   whole AS spoken_ms,
                   device, browser, system, land, area,
                   COALESCE(called, told),
                   described
              FROM persons
             CROSS JOIN together
              LEFT JOIN known ON bearer = person
             ORDER BY ended DESC, who
        """,
    ),
    QueryType(
        name="profile_sessions",
        meaning="sessions of one visitor, newest first, with their events and web vitals",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=ProfileSession,
        most=MOST_SESSIONS,
        needs=("anonymous_id",),
        given=(*WALKS, PAGES),
        details=(EVENTS_OF_SESSION, VITALS_OF_SESSION),
        sql="""
            SELECT known,
                   'Session ' || CAST(ROW_NUMBER() OVER (ORDER BY began, known) AS VARCHAR)
                       AS called,
                   began,
                   ended,
                   lasted AS lasted_ms,
                   lasted AS spoken_ms,
                   views,
                   different,
                   device, browser, system, land, area, came_from
              FROM journeys
              JOIN pages ON viewer = visit
             ORDER BY began DESC, known
        """,
    ),
)
