"""Page views of sessions in order, pages as numbers.

Sorting millions of page views takes half the time and a third of the memory with numbers in place
of text. Pages are numbered in the order of their paths.
"""

from query.sql.row_definitions import PAGE_VIEW, ROW_ORDER
from query.sql.select import Cte

IS_SESSION_VIEW = f"{PAGE_VIEW}\n       AND session_hash IS NOT NULL\n       AND path IS NOT NULL"

NUMBERED_PAGES = Cte(
    "pages",
    f"""
    SELECT path AS page,
           CAST(ROW_NUMBER() OVER (ORDER BY path) AS INTEGER) AS number
      FROM visit_rows
     WHERE {IS_SESSION_VIEW}
     GROUP BY path
    """,  # noqa: S608
)

SESSION_VIEWS = Cte(
    "session_page_views",
    f"""
    SELECT session_hash AS session_key,
           visitor_hash AS visitor_key,
           number, {ROW_ORDER}
      FROM visit_rows
      JOIN pages
        ON page = path
     WHERE {IS_SESSION_VIEW}
    """,  # noqa: S608
)

PAGE_SEQUENCE_CTES = (NUMBERED_PAGES, SESSION_VIEWS)
SESSION_WINDOW = f"(PARTITION BY session_key ORDER BY {ROW_ORDER})"
