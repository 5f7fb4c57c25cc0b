"""Statuses of groups of errors: open, resolved, ignored, or back after they were resolved.

A saved record names a message pattern and a class, so that it holds for all groups of these. Of
several records the newest one holds, for groups with errors of its website only. A group came back
if it has an error after the change of the record, or, where that names a release, an error in this
release or in one whose first error is later (of a release without an error: later than the change).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from query.sql.message_pattern import message_pattern
from query.sql.select import Cte
from schemas.registry import ErrorStatus

Status = Literal["open", "resolved", "ignored", "came_back"]

FIELDS = ("website", "message", "type", "word", "release", "ms", "record")

ALL_OPEN = "'open' AS group_status, CAST(NULL AS TEXT) AS status_record"
"""Columns of groups of a website without records."""

CURRENT_STATUSES = Cte(
    "current_statuses",
    f"""
    SELECT *,
           ROW_NUMBER() OVER (
               PARTITION BY status_website, status_pattern, status_type
                   ORDER BY status_ms DESC, status_record DESC
           ) AS status_rank
      FROM (SELECT *, {message_pattern("status_message")} AS status_pattern
              FROM saved_statuses) AS patterns
    """,  # noqa: S608
)

RELEASE_TIMES = Cte(
    "release_times",
    """
    SELECT release AS seen_release, MIN(ms) AS release_ms
      FROM scoped
     WHERE release IS NOT NULL
     GROUP BY release
    """,
)

GROUP_STATUS = """
           CASE WHEN status_record IS NULL THEN 'open'
                WHEN status_word = 'ignored' THEN 'ignored'
                WHEN CASE WHEN status_release = '' THEN last_seen > status_ms
                          ELSE newest_release_ms >= COALESCE(release_ms, status_ms) END
                     THEN 'came_back'
                ELSE 'resolved' END AS group_status,
           status_record"""

STATUS_JOIN = f"""
          LEFT JOIN current_statuses
            ON status_rank = 1
           AND status_pattern = {message_pattern("error_counts.group_message")}
           AND status_type = COALESCE(error_counts.error_type, '')
           AND status_website = first_website
           AND status_website = last_website
          LEFT JOIN release_times
            ON seen_release = status_release"""


def status_values(statuses: Sequence[ErrorStatus]) -> Mapping[str, object]:
    """The bound values of the CTEs."""
    return {
        f"status_{field}_{i}": value
        for i, status in enumerate(statuses)
        for field, value in zip(FIELDS, _row(status), strict=True)
    }


def status_ctes(count: int) -> tuple[Cte, ...]:
    """Relations of so many records: those that hold, and when releases were first seen."""
    rows = ", ".join(
        f"({', '.join(f'$status_{field}_{i}' for field in FIELDS)})" for i in range(count)
    )
    columns = ", ".join(f"status_{field}" for field in FIELDS)
    saved = Cte(
        "saved_statuses",
        f"SELECT {columns} FROM (VALUES {rows}) AS saved_records ({columns})",  # noqa: S608
    )
    return (saved, CURRENT_STATUSES, RELEASE_TIMES)


def _row(status: ErrorStatus) -> tuple[object, ...]:
    """Without NULL, which has no type among bound values."""
    kind, release = status.error_type or "", status.release or ""
    state = (status.status, release, status.updated_at, status.id)
    return (status.website_id, status.message, kind, *state)
