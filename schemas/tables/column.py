"""Column and Table: engine-independent declarations, and the shared column groups."""

from enum import StrEnum

from msgspec import Struct


class ColumnType(StrEnum):
    """Column types that every engine reads alike: signed, no DOUBLE, TIMESTAMP in milliseconds.

    The values are the names of Delta Lake's primitive types.
    """

    STRING = "string"
    LONG = "long"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    DECIMAL = "decimal(18,4)"
    TIMESTAMP = "timestamp"


class Column(Struct, frozen=True):
    """One column: name, type and description."""

    name: str
    type: ColumnType
    description: str
    public: bool = True
    """Whether custom queries can use it."""


class Table(Struct, frozen=True):
    """One Delta table: partitioned by `day` (UTC day of receipt).

    New data files are sorted by `sort_order`; those that the keeper merged are too, or by visitor
    within each half hour of a subject.
    """

    name: str
    columns: tuple[Column, ...]
    sort_order: tuple[str, ...]
    subject_column: str = "website_id"
    time_column: str = "ts"

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((c for c in self.columns if c.name == name), None)


DAY_COLUMN = Column(
    "day", ColumnType.DATE, "UTC day of receipt; the partition, not in the file", public=False
)

# Origin of a row in Kafka: with the epoch it identifies the row and makes the order total.
OFFSET_COLUMNS = (
    Column(
        "kafka_partition",
        ColumnType.INTEGER,
        "topic partition of the chunk; -1 minus it for the backfill topic",
        public=False,
    ),
    Column("kafka_offset", ColumnType.LONG, "offset of its chunk", public=False),
    Column("seq", ColumnType.INTEGER, "position in its chunk", public=False),
)

EPOCH_COLUMN = Column(
    "epoch",
    ColumnType.INTEGER,
    "topic epoch that the offset belongs to; NULL means 0 (rows of older versions)",
    public=False,
)

TIME_COLUMNS = (
    Column("ts", ColumnType.TIMESTAMP, "event time (client clock, clamped), UTC, milliseconds"),
    Column("received_at", ColumnType.TIMESTAMP, "when the collector received it"),
)

VISITOR_COLUMNS = (
    Column("event_id", ColumnType.STRING, "the sender's id of this item"),
    Column("anonymous_id", ColumnType.STRING, "visitor id of the tracker, or a derived one"),
    Column("session_id", ColumnType.STRING, "session id of the tracker, or a derived one"),
    Column("visitor_hash", ColumnType.LONG, "anonymous_id as 63 bits", public=False),
    Column("session_hash", ColumnType.LONG, "session_id as 63 bits", public=False),
    Column(
        "visitor_made",
        ColumnType.BOOLEAN,
        "whether anonymous_id was derived: keyed hash of client "
        "network and user agent, for one day",
    ),
    Column(
        "event_hash",
        ColumnType.LONG,
        "deduplication key: 63-bit hash of event_id or Idempotency-Key; NULL without one, and "
        "where compaction left it out, as it follows from event_id and `trusted`",
        public=False,
    ),
)

USER_AGENT_COLUMNS = (
    Column("browser_name", ColumnType.STRING, "browser, e.g. Chrome"),
    Column(
        "browser_version", ColumnType.STRING, "its version, as far as it is reliable: 141, 18.6"
    ),
    Column("os_name", ColumnType.STRING, "operating system, e.g. Windows"),
    Column("os_version", ColumnType.STRING, "its version, when it is reliable: 11, 15.6"),
    Column(
        "device_type",
        ColumnType.STRING,
        "desktop, mobile, tablet, tv, console, watch, headset or car",
    ),
)

LOCATION_COLUMNS = (
    Column("country", ColumnType.STRING, "ISO 3166 code, e.g. DE"),
    Column("region", ColumnType.STRING, "state or region"),
    Column("city", ColumnType.STRING, "city"),
)

BOT_COLUMNS = (
    Column("is_bot", ColumnType.BOOLEAN, "whether it is bot traffic"),
    Column(
        "bot_reason", ColumnType.STRING, "rule that detected the bot; `hint: …` does not set is_bot"
    ),
    Column("rules_version", ColumnType.INTEGER, "version of the enrichment rules", public=False),
    Column(
        "sender",
        ColumnType.STRING,
        "user agent and client hints as JSON, for re-enrichment",
        public=False,
    ),
)

TRUSTED_COLUMN = Column(
    "trusted",
    ColumnType.BOOLEAN,
    "whether it was sent with an API key; otherwise it is unauthenticated",
)

WEBSITE_COLUMN = Column("website_id", ColumnType.STRING, "the website", public=False)

WEBSITE_ROW_COLUMNS = (WEBSITE_COLUMN, *TIME_COLUMNS, *OFFSET_COLUMNS, *VISITOR_COLUMNS)
"""First columns of every row of a website's tracker."""

PAGE_COLUMNS = (
    Column("host", ColumnType.STRING, "host of the page"),
    Column("path", ColumnType.STRING, "path of the page, decoded, no trailing slash"),
)

ROW_KEY = ("epoch", "kafka_partition", "kafka_offset", "seq")
"""Identifies a row of a table; includes the epoch, because recreated topics restart at offset 0."""

TIME_ORDER = ("ts", *ROW_KEY)
"""Total order of the rows of one subject."""
