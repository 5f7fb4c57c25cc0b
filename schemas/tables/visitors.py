"""Visitors: when each visitor was first and last seen in one data file of `events`.

A visitor has a row for each data file that has events of it, one of bot traffic and one of others.
The first `ts` and the last `last_ts` of its rows are when it was first and last seen.
"""

from schemas.tables.column import DAY_COLUMN, WEBSITE_COLUMN, Column, ColumnType, Table
from schemas.tables.derived_table import SOURCE_ROWS, DerivedTable
from schemas.tables.events import EVENTS

VISITORS_TABLE = Table(
    name="visitors",
    columns=(
        WEBSITE_COLUMN,
        Column("ts", ColumnType.TIMESTAMP, "time of the first event of these"),
        Column("last_ts", ColumnType.TIMESTAMP, "time of the last event of these"),
        Column("visitor_hash", ColumnType.LONG, "anonymous_id as 63 bits", public=False),
        Column("is_bot", ColumnType.BOOLEAN, "whether the events are bot traffic"),
        DAY_COLUMN,
    ),
    sort_order=("website_id", "visitor_hash", "is_bot"),
)

_SQL = f"""
    SELECT website_id, MIN(ts) AS ts, MAX(ts) AS last_ts, visitor_hash,
           COALESCE(is_bot, FALSE) AS is_bot
      FROM {SOURCE_ROWS}
     WHERE visitor_hash IS NOT NULL
     GROUP BY website_id, visitor_hash, COALESCE(is_bot, FALSE)
"""  # noqa: S608 - names are those of our own tables

VISITORS = DerivedTable(VISITORS_TABLE, EVENTS, _SQL, portion_column="visitor_hash")
