"""Page views with what was reported of them: the seconds add up, the depth is the greatest.

Trackers report when a page is hidden or left, so that one page view has several reports, and none
of them names it. A report belongs to the last page view of the same session and path before it; the
page view may carry a report itself. Reports whose page view is before the time range are one page
view, and a row without a session is one alone.
"""

from collections.abc import Mapping

from query.sql.row_definitions import PAGE_EXIT, PAGE_VIEW, ROW_ORDER_NUMBER
from query.sql.select import Cte

IS_REPORT = f"({PAGE_VIEW} OR name = '{PAGE_EXIT}')"
VIEW_REPORTS = "view_reports"
"""The CTE with a row for each page view: keys, `view_path`, `seconds`, `depth`, `interactions`."""
OF_VISITOR = {"view_visitor": "visitor_hash", "view_session": "session_hash"}
"""Keys for distinct visitors and sessions."""

_HAS_ONE = "view_count = 0 OR (view_count = 1 AND first_view = first_order)"


def view_report_ctes(keys: Mapping[str, str], of_visits: bool = False) -> tuple[Cte, ...]:
    """The CTE `view_reports` and those before it, with expressions over the first row as keys.

    The first row, which is the page view but for those before the time range, has to meet the
    filters; its reports belong to it whatever filters say of them. `of_visits` is for the page
    views of all visits that have a row which meets them.
    """
    meets = f"first_order IN (SELECT {ROW_ORDER_NUMBER} FROM scoped WHERE {IS_REPORT})"  # noqa: S608
    selected = "".join(f"{sql} AS {name}, " for name, sql in keys.items())
    firsts = "".join(f"FIRST_BY({name}, row_order) AS {name}, " for name in keys)
    names = "".join(f"{name}, " for name in keys)
    rows = f"""
        SELECT {selected}time_on_page AS seconds_told, scroll_depth AS depth_told,
               interaction_count AS interactions_told,
               path AS view_path, {ROW_ORDER_NUMBER} AS row_order,
               COALESCE(CAST(session_hash AS INT128), -{ROW_ORDER_NUMBER}) AS of_session,
               CASE WHEN {PAGE_VIEW} THEN 1 ELSE 0 END AS is_view
    """
    sums = f"""
        {firsts}SUM(seconds_told) AS seconds, MAX(depth_told) AS depth,
        SUM(interactions_told) AS interactions, MIN(row_order) AS first_order
    """
    # Numbering page views takes most of the time, and most pages are seen once in a session.
    return (
        Cte(
            "report_rows",
            f"""
            {rows} FROM visit_rows WHERE {IS_REPORT} AND session_hash IS NOT NULL
             UNION ALL
            {rows} FROM scoped WHERE {IS_REPORT} AND session_hash IS NULL
            """,
        ),
        Cte(
            "report_groups",
            f"""
            SELECT of_session, view_path, {sums},
                   SUM(is_view) AS view_count,
                   MIN(CASE WHEN is_view = 1 THEN row_order END) AS first_view
              FROM report_rows
             GROUP BY of_session, view_path
            """,  # noqa: S608
        ),
        Cte(
            "numbered_reports",
            f"""
            SELECT report_rows.*,
                   SUM(is_view) OVER (
                       PARTITION BY report_rows.of_session, report_rows.view_path
                       ORDER BY row_order ROWS UNBOUNDED PRECEDING
                   ) AS view_number
              FROM report_rows
              JOIN (SELECT of_session, view_path FROM report_groups WHERE NOT ({_HAS_ONE})) AS many
                ON many.of_session = report_rows.of_session
               AND many.view_path IS NOT DISTINCT FROM report_rows.view_path
            """,  # noqa: S608
        ),
        Cte(
            VIEW_REPORTS,
            f"""
            SELECT {names}view_path, seconds, depth, interactions
              FROM (
                   SELECT {names}view_path, seconds, depth, interactions, first_order
                     FROM report_groups
                    WHERE {_HAS_ONE}
                    UNION ALL
                   SELECT {names}view_path, seconds, depth, interactions, first_order
                     FROM (
                          SELECT of_session, view_path, {sums}
                            FROM numbered_reports
                           GROUP BY of_session, view_path, view_number
                          ) AS numbered_views
                   ) AS all_views
             WHERE {"TRUE" if of_visits else meets}
            """,  # noqa: S608
        ),
    )


VIEWS_OF_VISITORS = view_report_ctes(OF_VISITOR)
