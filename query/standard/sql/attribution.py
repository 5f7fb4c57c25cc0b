"""Page views with the traffic source of their session.

The first page view of a session has its traffic source: later ones were referred by the website
itself. Filters do not apply to it, so that the views of one page are attributed to the sources of
their sessions. A page view without a session has its own source.
"""

from query.sql.row_definitions import PAGE_VIEW, first_value
from query.sql.select import Cte


def attributed_views(label: str) -> tuple[Cte, Cte]:
    """The CTE `attributed` with `visitor` and `origin`, and the one before it.

    `label` is the expression over `scoped` that gives the source.
    """
    firsts = Cte(
        "firsts",
        f"""
        SELECT session_hash      AS visit,
               {first_value(label)} AS origin
          FROM unfiltered
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
