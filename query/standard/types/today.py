"""Query types of today and of the visitors who are active now, in one row."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.time_windows import today
from query.standard.types.realtime import realtime_type
from schemas.tables import EVENTS


class Today(Struct, frozen=True):
    pageviews: int
    visitors: int
    sessions: int


class Active(Struct, frozen=True):
    active_users: int
    active_sessions: int


TODAY = (
    QueryType(
        name="today_metrics",
        description="page views, visitors and sessions of today in the time zone",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Today,
        sql=Statement(
            time_range_override=today,
            sql=f"""
                SELECT COUNT(*)                     AS pageviews,
                       COUNT(DISTINCT visitor_hash) AS visitors,
                       COUNT(DISTINCT session_hash) AS sessions
                  FROM scoped
                 WHERE {PAGE_VIEW}
                 ORDER BY pageviews
            """,  # noqa: S608
        ),
    ),
    realtime_type(
        "active_stats",
        "visitors and sessions with a page view",
        Active,
        f"""
            SELECT COUNT(DISTINCT visitor_hash) AS users,
                   COUNT(DISTINCT session_hash) AS visits
              FROM scoped
             WHERE {PAGE_VIEW}
             ORDER BY users
        """,  # noqa: S608
    ),
)
