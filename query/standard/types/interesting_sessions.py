"""Sessions in which most happened, by a score of what was viewed, done and met."""

from typing import Annotated

from msgspec import Struct

from query.standard.declaration.fields import Instant, Listed, Text
from query.standard.declaration.query_type import Choice, Cte, Detail, QueryType, Subject
from query.standard.sql.definitions import PAGE_VIEW
from query.standard.sql.event_conditions import AWAY, CUSTOM
from query.standard.types.session_groups import journeys
from query.standard.types.session_lists import FACTS, MOST_SESSIONS, PAGES
from schemas.tables import ERRORS, EVENTS


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

# The score and the end as one number: the end takes less than 13 digits.
SCORED = Choice(
    key="session_hash",
    afresh=True,
    given=(*journeys(counts=DONE), PAGES, FAILED),
    sql=f"""
        SELECT visit AS chosen, began, ended,
               CAST({SCORE} AS BIGINT) * 10000000000000 + ended AS standing
          FROM journeys
          JOIN pages ON viewer = visit
          LEFT JOIN failed ON failer = visit
    """,  # noqa: S608
)

INTERESTING = (
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
)
