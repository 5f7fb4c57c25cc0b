"""Visits: what the page views of one data file of `events` say about each visit.

A visit has a row for each data file and each UTC day in which it has page views. Of its rows the
first by `ts`, `epoch`, `kafka_partition`, `kafka_offset`, `seq` has the facts of its first page
view; the last by `last_ts`, `last_epoch` and so on has those of its last one.
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

VISITS_TABLE = Table(
    name="visits",
    columns=(
        WEBSITE_COLUMN,
        Column("ts", ColumnType.TIMESTAMP, "time of the first page view of these"),
        *OFFSET_COLUMNS,
        Column("session_hash", ColumnType.LONG, "session_id as 63 bits", public=False),
        Column("is_bot", ColumnType.BOOLEAN, "whether the page views are bot traffic"),
        EPOCH_COLUMN,
        *_LAST_COLUMNS,
        *(Column(c.name, ColumnType.STRING, c.description) for c in VISIT_COLUMNS),
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)


def _value(column: str) -> str:
    """The value of a column of the table, from the first or the last page view."""
    for fact in VISIT_COLUMNS:
        if fact.name == column:
            return f"{'l' if fact.is_last else 'f'}.{fact.column}"
    return f"l.{column.removeprefix(LAST)}" if column.startswith(LAST) else f"f.{column}"


_SELECTED = ", ".join(
    f"{_value(column.name)} AS {column.name}"
    for column in VISITS_TABLE.columns
    if column is not DAY_COLUMN
)
# Joins instead of aggregates with a value of each column: they spill to disk when memory is short.
_SQL = f"""
    WITH page_views AS NOT MATERIALIZED (
        SELECT * REPLACE (COALESCE(is_bot, FALSE) AS is_bot), {_ROW_ORDER} AS row_order
          FROM {SOURCE_ROWS}
         WHERE {IS_PAGE_VIEW}
           AND session_hash IS NOT NULL
    ),
    ends AS (
        SELECT website_id, session_hash, is_bot,
               MIN(row_order) AS first_order, MAX(row_order) AS last_order
          FROM page_views
         GROUP BY website_id, session_hash, is_bot, CAST(ts AS DATE)
    )
    SELECT {_SELECTED}
      FROM ends
      JOIN page_views AS f
        ON (f.website_id, f.session_hash, f.is_bot, f.row_order)
         = (ends.website_id, ends.session_hash, ends.is_bot, ends.first_order)
      JOIN page_views AS l
        ON (l.website_id, l.session_hash, l.is_bot, l.row_order)
         = (ends.website_id, ends.session_hash, ends.is_bot, ends.last_order)
"""  # noqa: S608 - names are those of our own tables

VISITS = DerivedTable(VISITS_TABLE, EVENTS, _SQL)
