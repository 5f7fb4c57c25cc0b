"""Sessions: what the rows of one data file of `events` say about each session.

A session has a row for each data file and each UTC day in which it has events, one of bot traffic
and one of others. Times, counts and ids of its rows are merged; `ts`, `epoch` and the row key are
those of the first page view among its events, `last_ts` and so on those of the last one, so that of
its rows the first has the facts of the visit (in the order of `ts`, `epoch`, `kafka_partition`,
`kafka_offset`, `seq`). A row without page views has no such facts, and the time of its first event.
"""

from msgspec import Struct

from schemas.tables.column import (
    DAY_COLUMN,
    EPOCH_COLUMN,
    LOCATION_COLUMNS,
    OFFSET_COLUMNS,
    TIME_ORDER,
    USER_AGENT_COLUMNS,
    WEBSITE_COLUMN,
    Column,
    ColumnType,
    Table,
)
from schemas.tables.derived_table import SOURCE_ROWS, DerivedTable
from schemas.tables.events import EVENTS

IS_PAGE_VIEW = "name IN ('screen_view', 'pageview')"
PAGE_EXIT = "page_exit"
IS_OTHER_EVENT = f"NOT {IS_PAGE_VIEW} AND name <> '{PAGE_EXIT}'"
"""Neither a page view nor a page exit."""
ENDS_BOUNCE = f"{IS_OTHER_EVENT} AND COALESCE(interactive, TRUE)"
"""Such an event, unless its sender says that it is no interaction."""
IS_OUTBOUND = "outbound_domain IS NOT NULL"
IS_CUSTOM = f"{IS_OTHER_EVENT} AND outbound_domain IS NULL"
"""A custom event: neither a page view, nor a page exit, nor an outbound click."""


class VisitColumn(Struct, frozen=True):
    """One fact of the visit: a column of events, of its first or its last page view."""

    name: str
    column: str
    description: str
    is_last: bool = False


def _of_first_view(name: str) -> VisitColumn:
    meaning = next(c.description for c in EVENTS.columns if c.name == name)
    return VisitColumn(name, name, f"of the visit: {meaning}")


SOURCE_COLUMNS = tuple(
    _of_first_view(name)
    for name in (
        "referrer",
        "referrer_name",
        "referrer_type",
        "channel",
        "utm_source",
        "utm_medium",
        "utm_campaign",
        "utm_term",
        "utm_content",
        "click_id",
    )
)
"""Where a visit came from."""

VISIT_COLUMNS = (
    *SOURCE_COLUMNS,
    VisitColumn("entry_page", "path", "path of the first page view of the visit"),
    VisitColumn("exit_page", "path", "path of the last page view of the visit", is_last=True),
    VisitColumn("landing_host", "host", "host of the first page view of the visit"),
    *(_of_first_view(column.name) for column in (*USER_AGENT_COLUMNS, *LOCATION_COLUMNS)),
    _of_first_view("language"),
    _of_first_view("timezone"),
)

LAST = "last_"
"""Before the name of a column of the row order: that of the last page view."""

_LAST_COLUMNS = (
    Column(f"{LAST}ts", ColumnType.TIMESTAMP, "time of the last page view of these"),
    *(
        Column(LAST + column.name, column.type, f"{column.name} of that page view", public=False)
        for column in (EPOCH_COLUMN, *OFFSET_COLUMNS)
    ),
)
_ROW_ORDER = (
    "(((CAST(epoch_ms(ts) * 256 + COALESCE(epoch, 0) % 256 AS INT128) * 65536 + kafka_partition)"
    " * 1099511627776 + kafka_offset) * 1048576 + seq)"
)
"""Time and row key as one number."""

_MERGED_COLUMNS = (
    Column("started_at", ColumnType.TIMESTAMP, "time of the first event of these"),
    Column("ended_at", ColumnType.TIMESTAMP, "time of the last event of these"),
    Column("page_views", ColumnType.LONG, "page views among these"),
    Column("other_events", ColumnType.LONG, "interactions: neither page views nor page exits"),
    Column("events", ColumnType.LONG, "all events of these"),
    Column("outbound_clicks", ColumnType.LONG, "those of links to other sites"),
    Column("custom_events", ColumnType.LONG, "other events that are no outbound clicks"),
    Column("visible_time", ColumnType.DECIMAL, "sum of the seconds that pages were visible"),
    Column("session_id", ColumnType.STRING, "session id"),
    Column("anonymous_id", ColumnType.STRING, "the least visitor id of these"),
    Column("profile_id", ColumnType.STRING, "the least profile id of these"),
    Column("trusted_profile_id", ColumnType.STRING, "the least of those sent with an API key"),
)
"""What is merged from all events of the row; the names are those in `_SQL`."""

SESSIONS_TABLE = Table(
    name="sessions",
    columns=(
        WEBSITE_COLUMN,
        Column("ts", ColumnType.TIMESTAMP, "time of the first page view of these, or event"),
        *OFFSET_COLUMNS,
        Column("session_hash", ColumnType.LONG, "session_id as 63 bits", public=False),
        Column("visitor_hash", ColumnType.LONG, "visitor of that page view", public=False),
        Column("is_bot", ColumnType.BOOLEAN, "whether the events are bot traffic"),
        EPOCH_COLUMN,
        *_LAST_COLUMNS,
        *_MERGED_COLUMNS,
        *(Column(c.name, ColumnType.STRING, c.description) for c in VISIT_COLUMNS),
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)


def _value(column: str) -> str:
    """The value of a column: of all events, or of the first or the last page view."""
    if column == "ts":
        return "COALESCE(f.ts, s.started_at)"
    if column in _OF_ALL_EVENTS:
        return f"s.{column}"
    for fact in VISIT_COLUMNS:
        if fact.name == column:
            return f"{'l' if fact.is_last else 'f'}.{fact.column}"
    return f"l.{column.removeprefix(LAST)}" if column.startswith(LAST) else f"f.{column}"


_OF_ALL_EVENTS = {"website_id", "session_hash", "is_bot", *(c.name for c in _MERGED_COLUMNS)}
_SELECTED = ", ".join(
    f"{_value(column.name)} AS {column.name}"
    for column in SESSIONS_TABLE.columns
    if column is not DAY_COLUMN
)
_GROUP = "website_id, session_hash, is_bot"
# Joins instead of aggregates with a value of each column: they spill to disk when memory is short.
_SQL = f"""
    WITH session_events AS NOT MATERIALIZED (
        SELECT * REPLACE (COALESCE(is_bot, FALSE) AS is_bot), {_ROW_ORDER} AS row_order
          FROM {SOURCE_ROWS}
         WHERE session_hash IS NOT NULL
    ),
    page_views AS NOT MATERIALIZED (
        SELECT * FROM session_events WHERE {IS_PAGE_VIEW}
    ),
    sessions AS (
        SELECT {_GROUP},
               MIN(row_order) FILTER (WHERE {IS_PAGE_VIEW}) AS first_order,
               MAX(row_order) FILTER (WHERE {IS_PAGE_VIEW}) AS last_order,
               MIN(ts) AS started_at,
               MAX(ts) AS ended_at,
               COUNT(*) FILTER (WHERE {IS_PAGE_VIEW}) AS page_views,
               COUNT(*) FILTER (WHERE {ENDS_BOUNCE}) AS other_events,
               COUNT(*) AS events,
               COUNT(*) FILTER (WHERE {IS_OUTBOUND}) AS outbound_clicks,
               COUNT(*) FILTER (WHERE {IS_CUSTOM}) AS custom_events,
               CAST(SUM(time_on_page) AS DECIMAL(18, 4)) AS visible_time,
               ANY_VALUE(session_id) AS session_id,
               MIN(anonymous_id) AS anonymous_id,
               MIN(profile_id) AS profile_id,
               MIN(profile_id) FILTER (WHERE trusted) AS trusted_profile_id
          FROM session_events
         GROUP BY {_GROUP}, CAST(ts AS DATE)
    )
    SELECT {_SELECTED}
      FROM sessions AS s
      LEFT JOIN page_views AS f
        ON (f.website_id, f.session_hash, f.is_bot, f.row_order)
         = (s.website_id, s.session_hash, s.is_bot, s.first_order)
      LEFT JOIN page_views AS l
        ON (l.website_id, l.session_hash, l.is_bot, l.row_order)
         = (s.website_id, s.session_hash, s.is_bot, s.last_order)
"""  # noqa: S608 - names are those of our own tables

SESSIONS = DerivedTable(SESSIONS_TABLE, EVENTS, _SQL, portion_column="session_hash")
