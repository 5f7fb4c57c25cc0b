"""The events table as a ClickHouse user would declare it, and how it is filled from the lake."""

from schemas.tables import EVENTS, Column, ColumnType
from tests.bench.clickhouse.one_website import LakeFiles

TYPES = {
    ColumnType.STRING: "LowCardinality(String)",
    ColumnType.LONG: "Int64",
    ColumnType.INTEGER: "Int32",
    ColumnType.BOOLEAN: "Bool",
    ColumnType.DECIMAL: "Decimal(18, 4)",
    ColumnType.TIMESTAMP: "DateTime64(3, 'UTC')",
}
DISTINCT_TEXTS = ("event_id", "anonymous_id", "session_id", "properties", "referrer", "href")
"""Texts with more values than LowCardinality is made for."""
SORT_ORDER = "website_id, toDate(ts), name, visitor_hash, ts"
"""The order of web analytics tables: a website's day, in it a name's rows by visitor."""


def columns() -> list[Column]:
    """The columns of the files; the day is in their path."""
    return [column for column in EVENTS.columns if column.name != "day"]


def create_table() -> str:
    """NULL of the files becomes '' or 0, as ClickHouse advises."""
    declared = ",\n".join(f"{column.name} {column_type(column)}" for column in columns())
    return f"""
        CREATE TABLE events ({declared})
        ENGINE = MergeTree
        PARTITION BY toYYYYMM(ts)
        ORDER BY ({SORT_ORDER})
        SETTINGS default_compression_codec = 'ZSTD(1)'
    """


def column_type(column: Column) -> str:
    """The ClickHouse type of a column."""
    return "String" if column.name in DISTINCT_TEXTS else TYPES[column.type]


def load_table(data_set: LakeFiles) -> list[str]:
    """Statements that insert all rows of the lake and then merge the parts, once."""
    names = ", ".join(column.name for column in columns())
    files = data_set.plain(EVENTS.name)
    return [
        create_table(),
        "SYSTEM STOP MERGES events",
        f"INSERT INTO events ({names}) SELECT {names} FROM file('{files}', Parquet)",
        "SYSTEM START MERGES events",
        "OPTIMIZE TABLE events FINAL",
    ]


TABLE_SIZE = """
    SELECT sum(rows) AS row_count, sum(bytes_on_disk) AS bytes
      FROM system.parts
     WHERE table = 'events' AND active
"""
