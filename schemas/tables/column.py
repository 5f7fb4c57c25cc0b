"""A column and a table, as values that every engine's types are made from."""

from enum import StrEnum

from msgspec import Struct


class Type(StrEnum):
    """Column types that every engine reads alike: signed, no DOUBLE, milliseconds in `TIMESTAMP`.

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
    """One column: what it is called, holds and means."""

    name: str
    type: Type
    meaning: str
    public: bool = True
    """Whether custom queries may name it."""


class Table(Struct, frozen=True):
    """One Delta table in the lake: partitioned by `day` (UTC, when received), sorted by `order`."""

    name: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    subject: str = "website_id"
    time: str = "ts"

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((c for c in self.columns if c.name == name), None)


DAY = Column("day", Type.DATE, "UTC day of receipt; the partition, not in the file", public=False)

# Where a row came from: with its epoch its identity for ever, and what makes the order total.
ORIGIN = (
    Column(
        "kafka_partition",
        Type.INTEGER,
        "topic partition of its chunk; -1 minus that for the backfill topic",
        public=False,
    ),
    Column("kafka_offset", Type.LONG, "offset of its chunk", public=False),
    Column("seq", Type.INTEGER, "position in its chunk", public=False),
)

EPOCH = Column(
    "epoch",
    Type.INTEGER,
    "making of the topic that the offset counts in; NULL is 0, before makings were told apart",
    public=False,
)

WHEN = (
    Column("ts", Type.TIMESTAMP, "when it happened (client time, clamped), UTC, milliseconds"),
    Column("received_at", Type.TIMESTAMP, "when the collector received it"),
)

WHO = (
    Column("event_id", Type.STRING, "the sender's id of this item"),
    Column("anonymous_id", Type.STRING, "visitor, as the tracker calls it"),
    Column("session_id", Type.STRING, "session, as the tracker calls it"),
    Column("visitor_hash", Type.LONG, "anonymous_id as 63 bits", public=False),
    Column("session_hash", Type.LONG, "session_id as 63 bits", public=False),
    Column(
        "visitor_made",
        Type.BOOLEAN,
        "whether the visitor is a keyed hash of address and user agent, for one day",
    ),
    Column(
        "event_hash",
        Type.LONG,
        "by which a copy is known, 63 bits of event_id or Idempotency-Key; NULL without one",
        public=False,
    ),
)

AGENT = (
    Column("browser_name", Type.STRING, "browser, e.g. Chrome"),
    Column("browser_version", Type.STRING, "its version, as far as it is a fact: 141, 18.6"),
    Column("os_name", Type.STRING, "operating system, e.g. Windows"),
    Column("os_version", Type.STRING, "its version, when it is a fact: 11, 15.6"),
    Column(
        "device_type", Type.STRING, "desktop, mobile, tablet, tv, console, watch, headset or car"
    ),
)

PLACE = (
    Column("country", Type.STRING, "ISO 3166 code, e.g. DE"),
    Column("region", Type.STRING, "state or region"),
    Column("city", Type.STRING, "city"),
)

BOT = (
    Column("is_bot", Type.BOOLEAN, "sent by a program rather than a person"),
    Column("bot_reason", Type.STRING, "which rule says so; `hint: …` sets no flag"),
    Column("rules_version", Type.INTEGER, "version of the enrichment rules", public=False),
    Column(
        "sender",
        Type.STRING,
        "user agent and client hints as JSON, for newer rules to read again",
        public=False,
    ),
)

TRUSTED = Column(
    "trusted",
    Type.BOOLEAN,
    "whether an API key came with it; without one anybody may have sent it",
)

WEBSITE = Column("website_id", Type.STRING, "the website", public=False)

OF_WEBSITE = (WEBSITE, *WHEN, *ORIGIN, *WHO)
"""What every row begins with that a tracker of a website sent."""

PAGE = (
    Column("host", Type.STRING, "host of the page"),
    Column("path", Type.STRING, "path of the page, decoded, no trailing slash"),
)

IDENTITY = ("epoch", "kafka_partition", "kafka_offset", "seq")
"""What no two rows of a table share, ever: offsets begin again when a topic is made anew."""

IN_TIME = ("ts", *IDENTITY)
"""The total order of the rows of one subject."""
