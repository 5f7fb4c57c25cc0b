"""Tables of a rollup: the SQL that sums up the rows of one website in one data file.

Each row stands for a quarter-hour, so that a rollup can be cut where any day begins in any time
zone of today. Tables of page views have the visitor of each group, by whom distinct visitors are
counted exactly whatever rollups are added up. Rows of `placed` have the number of their places and
devices among those of the same session and quarter, which links the rows of all tables.
"""

from collections.abc import Sequence

from msgspec import Struct

from query.request.time_zones import DAY_MS
from query.sql.row_definitions import (
    IS_CUSTOM,
    IS_OUTBOUND,
    PAGE_VIEW,
    PAGE_VIEW_NAMES,
    ROW_ORDER,
    first_value,
    last_value,
)
from query.standard.sql.definitions import OTHER_COUNT, VIEW_COUNT

QUARTER_MS = 900_000
QUARTER = f"INT_DIV(ms, {QUARTER_MS})"
NO_HASH = -1
"""In place of the 63-bit hash of a row without a visitor, or without a session."""
VISITOR = f"COALESCE(visitor_hash, {NO_HASH})"
SESSION = f"COALESCE(session_hash, {NO_HASH})"
SECOND_PARTS = 10_000
"""Parts of a second in which visible times are added up: they have four decimals."""


class RollupTable(Struct, frozen=True):
    """One table: a SELECT over `scoped`, and which of its columns are texts."""

    name: str
    sql: str
    texts: tuple[str, ...] = ()


SECOND_NAME_VIEWS = f"COUNT(*) FILTER (WHERE name = '{PAGE_VIEW_NAMES[1]}') AS second_name_views"
"""Page views of the less common one of their two names."""


def label(column: str) -> str:
    """The name of a column of the row in a table: no alias may be that of a stored column."""
    return f"of_{column}"


def labelled(columns: Sequence[str]) -> str:
    return ", ".join(f"{column} AS {label(column)}" for column in columns)


SESSIONS = RollupTable(
    "sessions",
    f"""
    SELECT {QUARTER} AS quarter,
           {VISITOR} AS visitor,
           session_hash AS session_key,
           place,
           MIN(ms % {QUARTER_MS}) AS start_ms,
           MAX(ms) - MIN(ms) AS span_ms,
           COALESCE(MIN(ms) FILTER (WHERE {PAGE_VIEW}) - MIN(ms), 0) AS before_views_ms,
           COALESCE(MAX(ms) - MAX(ms) FILTER (WHERE {PAGE_VIEW}), 0) AS after_views_ms,
           COUNT(*) AS row_count,
           {VIEW_COUNT} AS views,
           {OTHER_COUNT} AS others,
           COUNT(DISTINCT path) FILTER (WHERE {PAGE_VIEW}) AS pages,
           CAST(COALESCE(SUM(time_on_page), 0) * {SECOND_PARTS} AS BIGINT) AS visible
      FROM placed
     WHERE session_hash IS NOT NULL
     GROUP BY {QUARTER}, {VISITOR}, session_hash, place
    """,  # noqa: S608
)

PAGES = RollupTable(
    "pages",
    f"""
    SELECT {QUARTER} AS quarter, {VISITOR} AS visitor, {SESSION} AS session_key, place,
           {labelled(("path",))}, COUNT(*) AS views, {SECOND_NAME_VIEWS}
      FROM placed
     WHERE {PAGE_VIEW}
     GROUP BY {QUARTER}, {VISITOR}, session_hash, path, place
    """,  # noqa: S608
    (label("path"),),
)
"""Page views by path."""

ATTRIBUTES = (
    "browser_name",
    "browser_version",
    "os_name",
    "os_version",
    "device_type",
    "country",
    "region",
    "city",
    "language",
    "timezone",
    "screen_resolution",
    "host",
)
"""Columns that mostly have one value in all rows of a session."""
FACTS = RollupTable(
    "facts",
    f"""
    SELECT {QUARTER} AS quarter, {VISITOR} AS visitor, {SESSION} AS session_key, place,
           {labelled(ATTRIBUTES)},
           {VIEW_COUNT} AS views, COUNT(*) - {VIEW_COUNT} AS other_rows, {SECOND_NAME_VIEWS}
      FROM placed
     GROUP BY {QUARTER}, {VISITOR}, session_hash, {", ".join(ATTRIBUTES)}, place
    HAVING {VIEW_COUNT} > 0
    """,  # noqa: S608
    tuple(map(label, ATTRIBUTES)),
)
"""Rows by place and device, where there is a page view among them."""

OTHER_FACTS = RollupTable(
    "other_facts",
    f"""
    SELECT {QUARTER} AS quarter, {VISITOR} AS visitor, {SESSION} AS session_key, place,
           {labelled(ATTRIBUTES)}, COUNT(*) AS other_rows
      FROM placed
     GROUP BY {QUARTER}, {VISITOR}, session_hash, {", ".join(ATTRIBUTES)}, place
    HAVING {VIEW_COUNT} = 0
    """,  # noqa: S608
    FACTS.texts,
)
"""Rows by place and device, where there is none."""

SOURCES = (
    "referrer",
    "referrer_name",
    "channel",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
)
"""Columns of the first page view of a visit that breakdowns have."""

SESSIONLESS = RollupTable(
    "sessionless",
    f"""
    SELECT {QUARTER} AS quarter, {VISITOR} AS visitor, place, {labelled(SOURCES)},
           COUNT(*) AS row_count, {VIEW_COUNT} AS views
      FROM placed
     WHERE session_hash IS NULL
     GROUP BY {QUARTER}, {VISITOR}, {", ".join(SOURCES)}, place
    """,  # noqa: S608
    tuple(map(label, SOURCES)),
)
"""Rows that belong to no session, and have sources of their own."""

ENTRY_PAGE, EXIT_PAGE = "entry_page", "exit_page"
OF_LAST_VIEW = (EXIT_PAGE,)
"""Facts of the visit from its last page view; the others are from the first one."""

DEVICES = ("device_type", "browser_name")
"""Columns of the first page view of a visit by which sessions are grouped."""
_FIRST_VALUES = ", ".join(f"{first_value(c)} AS {label(c)}" for c in (*SOURCES, *DEVICES))

VISITS = RollupTable(
    "visits",
    f"""
    SELECT INT_DIV(MIN(ms), {QUARTER_MS}) AS quarter,
           MIN(ms) % {QUARTER_MS} AS start_ms,
           MAX(ms) - MIN(ms) AS span_ms,
           session_hash AS session_key,
           {first_value("path")} AS {label(ENTRY_PAGE)},
           {last_value("path")} AS {label(EXIT_PAGE)},
           {_FIRST_VALUES}
      FROM scoped
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
     GROUP BY session_hash, INT_DIV(ms, {DAY_MS})
    """,  # noqa: S608
    tuple(map(label, (ENTRY_PAGE, EXIT_PAGE, *SOURCES, *DEVICES))),
)
"""The first and the last page view of each visit and UTC day."""

EVENT_LABELS = ("name", "path", "outbound_domain", "href", "link_text")

OTHER_EVENTS = RollupTable(
    "other_events",
    f"""
    SELECT {QUARTER} AS quarter,
           {VISITOR} AS visitor,
           {SESSION} AS session_key,
           place,
           {labelled(EVENT_LABELS)},
           MIN(ms) % {QUARTER_MS} AS start_ms,
           MAX(ms) - MIN(ms) AS span_ms,
           COUNT(*) AS row_count,
           COUNT(NULLIF(properties, '{{}}')) AS with_properties
      FROM placed
     WHERE {IS_OUTBOUND}
        OR {IS_CUSTOM}
     GROUP BY {QUARTER}, {VISITOR}, session_hash, {", ".join(EVENT_LABELS)}, place
    """,  # noqa: S608
    tuple(map(label, EVENT_LABELS)),
)
"""Custom events, which have no outbound domain, and outbound clicks."""

TIE_ORDER = ROW_ORDER.removeprefix("ms, ")

PAGE_VIEWS = RollupTable(
    "page_views",
    f"""
    SELECT {QUARTER} AS quarter,
           {VISITOR} AS visitor,
           session_hash AS session_key,
           {labelled(("path",))},
           ms % {QUARTER_MS} AS start_ms,
           ROW_NUMBER() OVER (PARTITION BY session_hash, ms ORDER BY {TIE_ORDER}) - 1 AS tie
      FROM scoped
     WHERE {PAGE_VIEW}
       AND session_hash IS NOT NULL
       AND path IS NOT NULL
    """,  # noqa: S608
    (label("path"),),
)
"""The page views of sessions; `tie` is the place among those of a session in one millisecond."""

BY_COLUMN = {text: table for table in (PAGES, FACTS) for text in table.texts}
"""The table of page views that has a column of the row."""
