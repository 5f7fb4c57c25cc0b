"""Most active sessions by a score of page views, events, errors and duration."""

from typing import Annotated

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import IS_CUSTOM, IS_OUTBOUND, PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Instant, ListField, OptionalText
from query.standard.declaration.listing import Listing, NestedList, PageKeyQuery
from query.standard.declaration.query_type import QueryType
from query.standard.types.session_groups import session_ctes
from query.standard.types.session_lists import (
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


EVENT_CONDITIONS = {"engaged": IS_OUTBOUND, "customs": IS_CUSTOM}

SESSION_ERRORS = Cte(
    "failed",
    """
    SELECT session_hash AS failer,
           COUNT(*)     AS failures
      FROM unfiltered_errors
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    """,
)

SCORE = """LEAST(views, 10) * 2 + LEAST(different, 8) * 3 + LEAST(engaged + customs, 20)
                   + LEAST(COALESCE(failures, 0), 10) * 2
                   + CASE WHEN lasted >= 120000 THEN 5 ELSE 0 END"""

# The score and the end as one number: the end takes less than 13 digits.
SCORED_SESSIONS = PageKeyQuery(
    key="session_hash",
    inlined=True,
    ctes=(*session_ctes(counts=EVENT_CONDITIONS), PAGES, SESSION_ERRORS),
    sql=f"""
        SELECT visit AS page_key, began AS first_ms, ended AS last_ms,
               CAST({SCORE} AS BIGINT) * 10000000000000 + ended AS sort_rank
          FROM journeys
          JOIN pages ON viewer = visit
          LEFT JOIN failed ON failer = visit
    """,  # noqa: S608
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
            *session_ctes(SESSION_FIRSTS, EVENT_CONDITIONS, SESSION_FACTS),
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
            SELECT known,
                   who,
                   began,
                   ended,
                   INT_DIV(lasted, 1000)       AS duration_seconds,
                   views,
                   different,
                   engaged,
                   customs,
                   COALESCE(failures, 0)       AS failures,
                   land,
                   came_from,
                   device,
                   browser,
                   system,
                   {SCORE}                     AS score
              FROM journeys
              JOIN pages ON viewer = visit
              LEFT JOIN failed ON failer = visit
             ORDER BY score DESC, ended DESC, known
        """,  # noqa: S608
    ),
)
