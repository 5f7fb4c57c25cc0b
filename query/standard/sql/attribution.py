"""attributed: page views with the source that their session came from.

The first page view of a session says where the visit came from: the pages after it were referred
by the website itself. It is looked for before filters apply, so that views of one page also show
what brought their visits. A page view without a session counts with its own source.
"""

from query.standard.declaration.statement import Cte
from query.standard.sql.definitions import PAGE_VIEW, first_value


def attributed_views(label: str) -> tuple[Cte, Cte]:
    """The CTE `attributed_views` with `visitor` and `origin`; `label` is an expression over
    `scoped`.
    """
    firsts = Cte(
        "firsts",
        f"""
        SELECT session_hash      AS visit,
               {first_value(label)} AS origin
          FROM held
         WHERE {PAGE_VIEW}
           AND session_hash IS NOT NULL
         GROUP BY session_hash
        """,  # noqa: S608
    )
    views = Cte(
        "attributed",
        f"""
        SELECT visitor_hash AS visitor,
               CASE WHEN visit IS NULL THEN {label} ELSE origin END AS origin
          FROM scoped
          LEFT JOIN firsts
            ON visit = session_hash
         WHERE {PAGE_VIEW}
        """,  # noqa: S608
    )
    return firsts, views
