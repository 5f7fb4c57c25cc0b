"""Query types of today and of the visitors who are active now, in one row."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.time_windows import today
from query.standard.types.realtime import realtime_type
from query.standard.types.website import TOTALS
from schemas.tables import EVENTS


class Today(Struct, frozen=True):
    pageviews: int
    visitors: int
    sessions: int


class Active(Struct, frozen=True):
    active_users: int
    active_sessions: int


SESSION_TOTALS = Cte(
    "session_totals",
    f"""
    SELECT COUNT(DISTINCT session_hash) AS session_count
      FROM visit_rows
     WHERE {PAGE_VIEW}
    """,  # noqa: S608
)

TODAY = (
    QueryType(
        name="today_metrics",
        description="page views, visitors and sessions of today in the time zone",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Today,
        sql=Statement(
            time_range_override=today,
            ctes=(TOTALS, SESSION_TOTALS),
            sql="""
                SELECT pageviews, visitors, session_count AS sessions
                  FROM totals
                 CROSS JOIN session_totals
                 ORDER BY pageviews
            """,
        ),
    ),
    realtime_type(
        "active_stats",
        "visitors and sessions with a page view",
        Active,
        f"""
            SELECT COUNT(DISTINCT visitor_hash) AS active_users,
                   MAX(session_count)           AS active_sessions
              FROM session_totals
              LEFT JOIN scoped
                ON {PAGE_VIEW}
             ORDER BY active_users
        """,  # noqa: S608
        ctes=(SESSION_TOTALS,),
    ),
)
