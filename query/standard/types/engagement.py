"""Query types of scroll depth and interactions, as pages reported them."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Average, OptionalInteger, OptionalPercent, Percent
from query.standard.declaration.query_type import QueryType
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
    pageviews: OptionalInteger


class Interactions(Struct, frozen=True):
    avg_interactions: Average
    interactive_sessions: OptionalInteger
    interaction_rate: OptionalPercent
    total_sessions: int


SCROLLED = "scroll_depth > 0"

VIEWS_THAT_REPORT = f"COUNT(*) FILTER (WHERE {PAGE_VIEW})"
INTERACTIVE = """CASE WHEN SUM(report_count) > 0
                        THEN COUNT(CASE WHEN interactions > 0 THEN 1 END) END"""
"""Unknown, not 0, while no session reports interactions."""

DEPTHS = """CASE WHEN scroll_depth < 25 THEN '0-25%'
                        WHEN scroll_depth < 50 THEN '25-50%'
                        WHEN scroll_depth < 75 THEN '50-75%'
                        ELSE '75-100%' END"""

INTERACTED_SESSIONS = Cte(
    "session_interactions",
    f"""
    SELECT session_hash             AS session_key,
           SUM(interaction_count)   AS interactions,
           COUNT(interaction_count) AS report_count
      FROM visit_rows
     WHERE session_hash IS NOT NULL
     GROUP BY session_hash
    HAVING COUNT(*) FILTER (WHERE {PAGE_VIEW}) > 0
    """,  # noqa: S608
)

ENGAGEMENT = (
    QueryType(
        name="scroll_depth_summary",
        description="mean scroll depth in percent, of reports above 0",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ScrollSummary,
        sql=f"""
            SELECT {mean_columns("avg_scroll_depth", "scroll_depth")},
                   COUNT(DISTINCT session_hash) AS total_sessions,
                   COUNT(DISTINCT visitor_hash) AS visitors
              FROM scoped
             WHERE {SCROLLED}
             ORDER BY total_sessions
        """,  # noqa: S608
    ),
    QueryType(
        name="scroll_depth_distribution",
        description="reports by quarter of the page; a border counts in the deeper quarter",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ScrollRange,
        sql=f"""
            SELECT {DEPTHS}                                  AS depth,
                   COUNT(DISTINCT visitor_hash)              AS visitors,
                   COUNT(DISTINCT session_hash)              AS sessions,
                   COUNT(DISTINCT visitor_hash)              AS percentage_part,
                   SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
              FROM scoped
             WHERE {SCROLLED}
             GROUP BY {DEPTHS}
             ORDER BY depth
        """,  # noqa: S608
    ),
    QueryType(
        name="page_scroll_performance",
        description="mean scroll depth by path, of reports above 0; page views that report, null "
        "where only page exits do",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=ScrolledPage,
        sql=f"""
            SELECT path                                AS label,
                   {mean_columns("avg_scroll_depth", "scroll_depth")},
                   COUNT(DISTINCT visitor_hash)        AS visitors,
                   COUNT(DISTINCT session_hash)        AS sessions,
                   CASE WHEN SUM({VIEWS_THAT_REPORT}) OVER () > 0
                        THEN {VIEWS_THAT_REPORT} END   AS pageviews
              FROM scoped
             WHERE {SCROLLED}
               AND path IS NOT NULL
             GROUP BY path
             ORDER BY avg_scroll_depth_sum / avg_scroll_depth_count DESC, visitors DESC, label
        """,  # noqa: S608
    ),
    QueryType(
        name="interaction_summary",
        description="interactions per report, and the share of sessions with at least one; null "
        "while none is reported",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Interactions,
        ctes=(INTERACTED_SESSIONS,),
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
