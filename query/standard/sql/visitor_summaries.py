"""What lists of visitors show of each: activity, profile id, last known device and location.

Columns of a visitor are those of the newest page view, the referrer that of the first one.
"""

from collections.abc import Mapping

from query.scope.profiles import LISTED_PROFILE, LISTED_TRAITS, PROFILES
from query.sql.row_definitions import IS_CUSTOM, PAGE_VIEW, first_value, last_value
from query.sql.select import Cte


def last(column: str) -> str:
    """The value of a column in the visitor's newest page view."""
    return f"{last_value(column)} FILTER (WHERE {PAGE_VIEW})"


SUMMARY_COLUMNS: Mapping[str, str] = {
    "visitor_id": "MIN(anonymous_id)",
    "event_profile_id": "COALESCE(MAX(profile_id) FILTER (WHERE trusted), MAX(profile_id))",
    "first_ms": "MIN(ms)",
    "last_ms": "MAX(ms)",
    "total_events": "COUNT(*)",
    "page_views": f"COUNT(*) FILTER (WHERE {PAGE_VIEW})",
    "unique_pages": f"COUNT(DISTINCT CASE WHEN {PAGE_VIEW} THEN path END)",
    "custom_events": f"COUNT(*) FILTER (WHERE {IS_CUSTOM})",
    "unique_event_names": f"COUNT(DISTINCT CASE WHEN {IS_CUSTOM} THEN name END)",
    "last_country": last("country"),
    "last_region": last("region"),
    "last_device": last("device_type"),
    "last_browser": last("browser_name"),
    "last_os": last("os_name"),
    "first_referrer": (
        f"{first_value('COALESCE(referrer_name, referrer)')} FILTER (WHERE {PAGE_VIEW})"
    ),
}
"""Of the rows of one visitor."""


def summary_ctes(
    relation: str = "scoped", condition: str = "visitor_hash IS NOT NULL"
) -> tuple[Cte, Cte]:
    """`visitors` and `session_counts`: a row for each visitor in the relation, by the condition."""
    columns = ",\n".join(f"{sql} AS {name}" for name, sql in SUMMARY_COLUMNS.items())
    summaries = f"""
        SELECT visitor_hash AS visitor,
               {columns}
          FROM {relation}
         WHERE {condition}
         GROUP BY visitor_hash
    """  # noqa: S608
    sessions = f"""
        SELECT visitor_hash                 AS visitor,
               COUNT(DISTINCT session_hash) AS sessions
          FROM visit_rows
         WHERE {PAGE_VIEW}
           AND {condition}
         GROUP BY visitor_hash
    """  # noqa: S608
    return Cte("visitors", summaries), Cte("session_counts", sessions)


PROFILE_ID = f"COALESCE({LISTED_PROFILE}, event_profile_id)"
"""That of the identities, else what came with the events themselves."""
JOIN_PROFILES = f"LEFT JOIN {PROFILES} ON {PROFILES}.profile_visitor = visitors.visitor"

VISITOR_LIST = f"""
    SELECT visitor_id, {PROFILE_ID} AS known_profile_id, first_ms, last_ms,
           COALESCE(sessions, 0) AS session_count,
           total_events, page_views, unique_pages,
           last_country, last_region, last_device, last_browser, last_os, first_referrer,
           custom_events AS custom_event_count, unique_event_names,
           {LISTED_TRAITS}
      FROM visitors
      LEFT JOIN session_counts ON session_counts.visitor = visitors.visitor
      {JOIN_PROFILES}
     ORDER BY last_ms DESC, visitor_id
"""  # noqa: S608
