"""Query types of the page transitions inside sessions."""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.page_sequences import PAGE_SEQUENCE_CTES, SESSION_WINDOW
from schemas.tables import EVENTS


class PageTransition(Struct, frozen=True):
    from_path: str
    to_path: str
    name: str
    transitions: int
    sessions: int


class SessionPage(Struct, frozen=True):
    name: str
    sessions: int
    visitors: int


STEPS = Cte(
    "steps",
    f"""
    SELECT visit,
           number AS leaving,
           LEAD(number) OVER {SESSION_WINDOW} AS reaching
      FROM viewed
    """,  # noqa: S608
)

TRANSITION_COUNTS = Cte(
    "taken",
    """
    SELECT leaving, reaching, COUNT(*) AS times
      FROM steps
     WHERE leaving <> reaching
     GROUP BY visit, leaving, reaching
    """,
)
"""A row for each session and transition."""

FLOWS = Cte(
    "flows",
    """
    SELECT leaving, reaching,
           SUM(times) AS transitions,
           COUNT(*)   AS sessions
      FROM taken
     GROUP BY leaving, reaching
    """,
)

SESSION_FLOW = (
    QueryType(
        name="session_flow",
        description="page transitions within sessions; consecutive views of a page count once",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PageTransition,
        sql=Statement(
            inlined=True,
            ctes=(*PAGE_SEQUENCE_CTES, STEPS, TRANSITION_COUNTS, FLOWS),
            sql="""
                SELECT sources.page AS source_path,
                       targets.page AS target_path,
                       sources.page || ' → ' || targets.page AS label,
                       transitions,
                       sessions
                  FROM flows
                  JOIN pages AS sources ON sources.number = leaving
                  JOIN pages AS targets ON targets.number = reaching
                 ORDER BY transitions DESC, source_path, target_path
            """,
        ),
    ),
    QueryType(
        name="session_pages",
        description="sessions and visitors that viewed each path",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=SessionPage,
        sql=f"""
            SELECT path                         AS label,
                   COUNT(DISTINCT session_hash) AS sessions,
                   COUNT(DISTINCT visitor_hash) AS visitors
              FROM scoped
             WHERE {PAGE_VIEW}
               AND path IS NOT NULL
             GROUP BY path
             ORDER BY sessions DESC, visitors DESC, label
        """,  # noqa: S608
    ),
)
