"""Query types of the page transitions inside sessions."""

from msgspec import Struct

from query.prepared.page_paths import PageFlow
from query.prepared.session_groups import SessionPages
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
    SELECT session_key,
           number AS from_page,
           LEAD(number) OVER {SESSION_WINDOW} AS to_page
      FROM session_page_views
    """,  # noqa: S608
)

SESSION_TRANSITIONS = Cte(
    "session_transitions",
    """
    SELECT from_page, to_page, COUNT(*) AS occurrences
      FROM steps
     WHERE from_page <> to_page
     GROUP BY session_key, from_page, to_page
    """,
)
"""A row for each session and transition."""

TRANSITION_COUNTS = Cte(
    "transition_counts",
    """
    SELECT from_page, to_page,
           SUM(occurrences) AS transitions,
           COUNT(*)         AS sessions
      FROM session_transitions
     GROUP BY from_page, to_page
    """,
)

SESSION_FLOW = (
    QueryType(
        name="session_flow",
        description="page transitions within sessions; consecutive views of a page count once",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=PageTransition,
        prepared=PageFlow(),
        sql=Statement(
            inlined=True,
            ctes=(*PAGE_SEQUENCE_CTES, STEPS, SESSION_TRANSITIONS, TRANSITION_COUNTS),
            sql="""
                SELECT sources.page AS source_path,
                       targets.page AS target_path,
                       sources.page || ' → ' || targets.page AS label,
                       transitions,
                       sessions
                  FROM transition_counts
                  JOIN pages AS sources ON sources.number = from_page
                  JOIN pages AS targets ON targets.number = to_page
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
        prepared=SessionPages(),
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
