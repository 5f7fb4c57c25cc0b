"""Questions about the way through pages inside sessions."""

from msgspec import Struct

from query.standard.sessions import ORDER, PAGE_VIEW
from query.standard.spec import Cte, QueryType, Subject
from schemas.tables import EVENTS


class Step(Struct, frozen=True):
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
    SELECT session_hash AS visit,
           path         AS source_path,
           LEAD(path) OVER (PARTITION BY session_hash ORDER BY {ORDER}) AS target_path
      FROM scoped
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
       AND path IS NOT NULL
    """,  # noqa: S608
)

SESSION_FLOW = (
    QueryType(
        name="session_flow",
        meaning="steps from one page to another inside sessions; views of the same page are one",
        subject=Subject.WEBSITE,
        table=EVENTS,
        row=Step,
        given=(STEPS,),
        sql="""
            SELECT source_path,
                   target_path,
                   source_path || ' → ' || target_path AS label,
                   COUNT(*)                            AS transitions,
                   COUNT(DISTINCT visit)               AS sessions
              FROM steps
             WHERE source_path <> target_path
             GROUP BY source_path, target_path
             ORDER BY transitions DESC, source_path, target_path
        """,
    ),
    QueryType(
        name="session_pages",
        meaning="sessions and visitors that viewed each path",
        subject=Subject.WEBSITE,
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
