"""Query types of single visitors: their list, one profile, and its sessions."""

from typing import Annotated

from msgspec import Struct

from query.prepared.visitor_lists import VisitorList
from query.request.subject import SubjectKind
from query.scope.profiles import LISTED_TRAITS
from query.sql.row_definitions import ROW_ORDER
from query.sql.select import Cte
from query.standard.declaration.fields import (
    DurationSeconds,
    FieldSpec,
    Instant,
    ListField,
    OptionalText,
)
from query.standard.declaration.listing import (
    JoinedValue,
    Listing,
    NestedList,
    PageKeyQuery,
    PreparedKeys,
)
from query.standard.declaration.query_type import QueryType
from query.standard.sql.visitor_summaries import (
    JOIN_PROFILES,
    PROFILE_ID,
    SUMMARY_COLUMNS,
    VISITOR_LIST,
    summary_ctes,
)
from query.standard.types.session_groups import session_ctes
from query.standard.types.session_lists import (
    EVENTS_OF_SESSION,
    MAX_SESSIONS,
    PAGES,
    SESSION_FACTS,
    SessionEventEntry,
)
from schemas.tables import EVENTS, VITALS


def format_duration(ms: int | None) -> str:
    """Milliseconds as hours, minutes and seconds, such as `1h 2m 3s`."""
    seconds = (ms or 0) // 1000
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    parts = [(hours, "h"), (minutes, "m"), (rest, "s")]
    return " ".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


FormattedDuration = Annotated[str, FieldSpec(("",), format_duration, "duration")]


class Profile(Struct, frozen=True):
    visitor_id: str
    profile_id: OptionalText
    first_visit: Instant
    last_visit: Instant
    session_count: int
    total_events: int
    page_views: int
    unique_pages: int
    country: OptionalText
    region: OptionalText
    device_type: OptionalText
    browser_name: OptionalText
    os_name: OptionalText
    referrer: OptionalText
    custom_event_count: int
    unique_event_names: int
    traits: OptionalText


class ProfileDetail(Struct, frozen=True):
    visitor_id: str
    first_visit: Instant
    last_visit: Instant
    total_sessions: int
    total_pageviews: int
    total_duration: DurationSeconds
    total_duration_formatted: FormattedDuration
    device: OptionalText
    browser: OptionalText
    os: OptionalText
    country: OptionalText
    region: OptionalText
    profile_id: OptionalText
    traits: OptionalText


class ProfileVital(Struct, frozen=True, array_like=True):
    """One web vital of a session, as a tuple."""

    time: Instant
    metric_name: str
    metric_value: float
    path: OptionalText


class ProfileSession(Struct, frozen=True):
    session_id: str
    session_name: str
    first_visit: Instant
    last_visit: Instant
    duration: DurationSeconds
    duration_formatted: FormattedDuration
    page_views: int
    unique_pages: int
    device: OptionalText
    browser: OptionalText
    os: OptionalText
    country: OptionalText
    region: OptionalText
    referrer: OptionalText
    events: Annotated[list[SessionEventEntry], ListField]
    web_vitals: Annotated[list[ProfileVital], ListField]


VISITORS, SESSION_COUNTS = summary_ctes()

TOTAL_DURATION = Cte(
    "total_duration",
    """
    SELECT seen_visitor, SUM(duration_ms) AS total_ms
      FROM (SELECT DISTINCT visitor_hash AS seen_visitor, session_hash FROM scoped) AS seen
      JOIN session_summaries
        ON session_key = session_hash
     GROUP BY seen_visitor
    """,
)

PROFILE_SESSIONS = session_ctes(
    {"session": "session_id"}, facts={**SESSION_FACTS, "session_region": "visit_region"}
)

VITALS_OF_SESSION = NestedList(
    field="web_vitals",
    row=ProfileVital,
    key=("session_id",),
    filter_column="session_id",
    of_whole_visits=True,
    table=VITALS,
    sql=f"""
        SELECT session_id, ms, metric_name, CAST(metric_value AS DOUBLE) AS measurement, path
          FROM scoped
         ORDER BY session_id, {ROW_ORDER}
    """,  # noqa: S608
)

SEEN = PageKeyQuery(
    column="visitor_hash",
    key="visitor_hash",
    first="MIN(ms)",
    last="MAX(ms)",
    rank="MAX(ms)",
    source="""
          FROM scoped
         WHERE visitor_hash IS NOT NULL
         GROUP BY visitor_hash
    """,
    orders={
        field: SUMMARY_COLUMNS[column]
        for field, column in {
            "visitor_id": "visitor_id",
            "first_visit": "first_ms",
            "last_visit": "last_ms",
            "total_events": "total_events",
            "page_views": "page_views",
            "unique_pages": "unique_pages",
            "country": "last_country",
            "region": "last_region",
            "device_type": "last_device",
            "browser_name": "last_browser",
            "os_name": "last_os",
            "referrer": "first_referrer",
            "custom_event_count": "custom_events",
            "unique_event_names": "unique_event_names",
        }.items()
    },
    joined_orders={
        "session_count": JoinedValue(
            "COALESCE(sessions, 0)",
            "LEFT JOIN session_counts ON session_counts.visitor = page_key",
            (SESSION_COUNTS,),
        ),
    },
    prepared=PreparedKeys(form=VisitorList(), own_order=("last_visit",)),
)

PROFILES = (
    QueryType(
        name="profile_list",
        description="visitors, most recent first, with profile id, traits and activity; last "
        "known device and location",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Profile,
        default_limit=25,
        listing=Listing(page_keys=SEEN),
        ctes=(VISITORS, SESSION_COUNTS),
        sql=VISITOR_LIST,
    ),
    QueryType(
        name="profile_detail",
        description="one visitor, with profile id, traits and activity",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ProfileDetail,
        required_filters=("anonymous_id",),
        ctes=(VISITORS, SESSION_COUNTS, *session_ctes(), TOTAL_DURATION),
        sql=f"""
            SELECT visitor_id, first_ms, last_ms, COALESCE(sessions, 0), page_views,
                   total_ms AS duration_ms,
                   total_ms AS formatted_duration_ms,
                   last_device, last_browser, last_os, last_country, last_region,
                   {PROFILE_ID}, {LISTED_TRAITS}
              FROM visitors
              LEFT JOIN total_duration ON seen_visitor = visitors.visitor
              LEFT JOIN session_counts ON session_counts.visitor = visitors.visitor
              {JOIN_PROFILES}
             ORDER BY last_ms DESC, visitor_id
        """,  # noqa: S608
    ),
    QueryType(
        name="profile_sessions",
        description="sessions of one visitor, newest first, with their events and web vitals",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ProfileSession,
        max_limit=MAX_SESSIONS,
        required_filters=("anonymous_id",),
        ctes=(*PROFILE_SESSIONS, PAGES),
        listing=Listing(nested_lists=(EVENTS_OF_SESSION, VITALS_OF_SESSION)),
        sql="""
            SELECT session,
                   'Session ' || CAST(ROW_NUMBER() OVER (ORDER BY started_ms, session) AS VARCHAR)
                       AS session_name,
                   started_ms,
                   ended_ms,
                   duration_ms,
                   duration_ms AS formatted_duration_ms,
                   page_views,
                   distinct_pages,
                   session_device, session_browser, session_os,
                   session_country, session_region, session_referrer
              FROM session_summaries
              JOIN page_counts ON counted_session = session_key
             ORDER BY started_ms DESC, session
        """,
    ),
)
