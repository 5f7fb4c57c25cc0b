"""Query types of the scroll depth of page views, and of interactions, as pages reported them."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Average, OptionalInteger, OptionalPercent, Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.page_view_reports import (
    VIEW_REPORTS,
    VIEWS_OF_VISITORS,
    view_report_ctes,
)
from query.standard.sql.percentiles import mean_columns
from schemas.tables import EVENTS


class ScrollSummary(Struct, frozen=True):
    avg_scroll_depth: Average
    total_sessions: int
    visitors: int


class ScrollRange(Struct, frozen=True):
    depth_range: str
    visitors: int
    sessions: int
    percentage: Percent


class ScrolledPage(Struct, frozen=True):
    name: str
    avg_scroll_depth: Average
    visitors: int
    sessions: int
    pageviews: int


class Interactions(Struct, frozen=True):
    avg_interactions: Average
    interactive_sessions: OptionalInteger
    interaction_rate: OptionalPercent
    total_sessions: int


SCROLLED = "depth > 0"
INTERACTIVE = """CASE WHEN SUM(report_count) > 0
                        THEN COUNT(CASE WHEN interactions > 0 THEN 1 END) END"""
"""Unknown, not 0, while no session reports interactions."""

DEPTHS = """CASE WHEN depth < 25 THEN '0-25%'
                        WHEN depth < 50 THEN '25-50%'
                        WHEN depth < 75 THEN '50-75%'
                        ELSE '75-100%' END"""

VIEWS_OF_SESSIONS = view_report_ctes(
    {
        "view_session": "session_hash",
        "starts_with_view": f"CASE WHEN {PAGE_VIEW} THEN 1 ELSE 0 END",
    },
    of_visits=True,
)
INTERACTED_SESSIONS = Cte(
    "session_interactions",
    f"""
    SELECT SUM(interactions)   AS interactions,
           COUNT(interactions) AS report_count
      FROM {VIEW_REPORTS}
     WHERE view_session IS NOT NULL
     GROUP BY view_session
    HAVING MAX(starts_with_view) = 1
    """,  # noqa: S608
)

ENGAGEMENT = (
    QueryType(
        name="scroll_depth_summary",
        description="mean scroll depth in percent, of page views with one above 0",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ScrollSummary,
        ctes=VIEWS_OF_VISITORS,
        sql=f"""
            SELECT {mean_columns("avg_scroll_depth", "depth")},
                   COUNT(DISTINCT view_session) AS total_sessions,
                   COUNT(DISTINCT view_visitor) AS visitors
              FROM {VIEW_REPORTS}
             WHERE {SCROLLED}
             ORDER BY total_sessions
        """,  # noqa: S608
    ),
    QueryType(
        name="scroll_depth_distribution",
        description="page views by the quarter of the page that was reached; a border counts in "
        "the deeper quarter",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ScrollRange,
        ctes=VIEWS_OF_VISITORS,
        sql=f"""
            SELECT {DEPTHS}                                  AS depth_range,
                   COUNT(DISTINCT view_visitor)              AS visitors,
                   COUNT(DISTINCT view_session)              AS sessions,
                   COUNT(DISTINCT view_visitor)              AS percentage_part,
                   SUM(COUNT(DISTINCT view_visitor)) OVER () AS percentage_whole
              FROM {VIEW_REPORTS}
             WHERE {SCROLLED}
             GROUP BY {DEPTHS}
             ORDER BY depth_range
        """,  # noqa: S608
    ),
    QueryType(
        name="page_scroll_performance",
        description="mean scroll depth by path, of page views with one above 0",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ScrolledPage,
        ctes=VIEWS_OF_VISITORS,
        sql=f"""
            SELECT view_path                    AS label,
                   {mean_columns("avg_scroll_depth", "depth")},
                   COUNT(DISTINCT view_visitor) AS visitors,
                   COUNT(DISTINCT view_session) AS sessions,
                   COUNT(*)                     AS pageviews
              FROM {VIEW_REPORTS}
             WHERE {SCROLLED}
               AND view_path IS NOT NULL
             GROUP BY view_path
             ORDER BY avg_scroll_depth_sum / avg_scroll_depth_count DESC, visitors DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="interaction_summary",
        description="interactions per page view that reports them, and the share of sessions with "
        "at least one; null while none is reported",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Interactions,
        ctes=(*VIEWS_OF_SESSIONS, INTERACTED_SESSIONS),
        sql=f"""
            SELECT SUM(interactions)              AS avg_interactions_sum,
                   COALESCE(SUM(report_count), 0) AS avg_interactions_count,
                   {INTERACTIVE}                  AS interactive_sessions,
                   {INTERACTIVE}                  AS interaction_rate_part,
                   COUNT(*)                       AS interaction_rate_whole,
                   COUNT(*)                       AS total_sessions
              FROM session_interactions
             ORDER BY total_sessions
        """,  # noqa: S608
    ),
)
