"""Most active sessions by a score of page views, events, errors and duration."""

from typing import Annotated

from msgspec import Struct

from query.prepared.listed_keys import ScoreTerm
from query.prepared.session_lists import SessionList
from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM, PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Instant, ListField, OptionalText
from query.standard.declaration.listing import Listing, NestedList, PageKeyQuery, PreparedKeys
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.types.session_groups import session_ctes
from query.standard.types.session_lists import (
    FACT_ORDERS,
    MAX_SESSIONS,
    PAGES,
    SESSION_FACTS,
    SESSION_FIRSTS,
)
from schemas.tables import EVENTS


class InterestingSession(Struct, frozen=True):
    session_id: str
    visitor_id: OptionalText
    first_visit: Instant
    last_visit: Instant
    duration_seconds: int
    page_views: int
    unique_pages: int
    analytics_engagement_events: int
    custom_events: int
    errors: int
    paths: Annotated[list[str], ListField]
    custom_event_names: Annotated[list[str], ListField]
    country: OptionalText
    referrer: OptionalText
    device_type: OptionalText
    browser_name: OptionalText
    os_name: OptionalText
    interesting_score: int


def distinct(field: str, column: str, only: str) -> NestedList:
    """The distinct values of a column in a session, in alphabetical order."""
    return NestedList(
        field=field,
        row=None,
        key=("session_id",),
        filter_column="session_id",
        of_whole_visits=True,
        table=EVENTS,
        sql=f"""
            SELECT DISTINCT session_id, {column}
              FROM scoped
             WHERE {only}
               AND {column} IS NOT NULL
             ORDER BY session_id, {column}
        """,  # noqa: S608
    )


EVENT_COUNTS = ("outbound_clicks", "custom_events")

SESSION_ERRORS = Cte(
    "error_counts",
    """
    SELECT session_hash AS error_session,
           COUNT(*)     AS session_errors
      FROM unfiltered_errors
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    """,
)

SCORE = """LEAST(page_views, 10) * 2 + LEAST(distinct_pages, 8) * 3
                   + LEAST(outbound_clicks + custom_events, 20)
                   + LEAST(COALESCE(session_errors, 0), 10) * 2
                   + CASE WHEN duration_ms >= 120000 THEN 5 ELSE 0 END"""
SCORE_TERMS = (
    ScoreTerm(("page_views",), most=10, weight=2),
    ScoreTerm(("unique_pages",), most=8, weight=3),
    ScoreTerm(("analytics_engagement_events", "custom_events"), most=20),
    ScoreTerm(("errors",), most=10, weight=2),
    ScoreTerm(("duration_seconds",), divisor=120, most=1, weight=5),
)
"""The same score by fields."""

SCORED_SESSIONS = PageKeyQuery(
    column="session_hash",
    key="session_key",
    first="started_ms",
    last="ended_ms",
    # Score and end as one number: the end takes less than 13 digits.
    rank=f"CAST({SCORE} AS BIGINT) * 10000000000000 + ended_ms",
    source="""
          FROM session_summaries
          JOIN page_counts ON counted_session = session_key
          LEFT JOIN error_counts ON error_session = session_key
    """,
    inlined=True,
    ctes=(*session_ctes(counts=EVENT_COUNTS), PAGES, SESSION_ERRORS),
    orders={
        "first_visit": "started_ms",
        "last_visit": "ended_ms",
        "duration_seconds": "INT_DIV(duration_ms, 1000)",
        "page_views": "page_views",
        "unique_pages": "distinct_pages",
        "analytics_engagement_events": "outbound_clicks",
        "custom_events": "custom_events",
        "errors": "COALESCE(session_errors, 0)",
        "interesting_score": SCORE,
    },
    joined_orders=FACT_ORDERS,
    prepared=PreparedKeys(
        form=SessionList(with_events=True),
        own_order=("interesting_score", "last_visit"),
        counts={
            "errors": Statement(
                sql="SELECT error_session, session_errors FROM error_counts",
                ctes=(SESSION_ERRORS,),
            )
        },
        scores={"interesting_score": SCORE_TERMS},
    ),
)

INTERESTING = (
    QueryType(
        name="interesting_sessions",
        description="most active sessions by a score; the reference tells how it is computed",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=InterestingSession,
        default_limit=10,
        max_limit=MAX_SESSIONS,
        ctes=(
            *session_ctes(SESSION_FIRSTS, EVENT_COUNTS, SESSION_FACTS),
            PAGES,
            SESSION_ERRORS,
        ),
        listing=Listing(
            page_keys=SCORED_SESSIONS,
            nested_lists=(
                distinct("paths", "path", PAGE_VIEW),
                distinct("custom_event_names", "name", IS_CUSTOM),
            ),
        ),
        sql=f"""
            SELECT first_session_id,
                   first_anonymous_id,
                   started_ms,
                   ended_ms,
                   INT_DIV(duration_ms, 1000)  AS duration_seconds,
                   page_views,
                   distinct_pages,
                   outbound_clicks,
                   custom_events,
                   COALESCE(session_errors, 0) AS errors,
                   session_country,
                   session_referrer,
                   session_device,
                   session_browser,
                   session_os,
                   {SCORE}                     AS score
              FROM session_summaries
              JOIN page_counts ON counted_session = session_key
              LEFT JOIN error_counts ON error_session = session_key
             ORDER BY score DESC, ended_ms DESC, first_session_id
        """,  # noqa: S608
    ),
)
