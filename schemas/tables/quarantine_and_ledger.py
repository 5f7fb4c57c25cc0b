"""Quarantine (items that could not be stored) and ledger (counts of all received items)."""

from schemas.tables.column import (
    DAY_COLUMN,
    EPOCH_COLUMN,
    OFFSET_COLUMNS,
    ROW_KEY,
    Column,
    ColumnType,
    Table,
)

QUARANTINE = Table(
    name="quarantine",
    columns=(
        Column("subject_id", ColumnType.STRING, "website or link, when it could be read"),
        Column("ts", ColumnType.TIMESTAMP, "time of receipt, as far as known"),
        Column("topic", ColumnType.STRING, "topic of the item"),
        *OFFSET_COLUMNS,
        Column("stage", ColumnType.STRING, "decode, enrich, write, duplicate, replayed or lost"),
        Column(
            "reason",
            ColumnType.STRING,
            "what was wrong, which stored item it duplicates, or of which quarantined item it is "
            "the replay",
        ),
        Column(
            "payload",
            ColumnType.STRING,
            "bytes of the item as base64, cut at 64 KiB",
            public=False,
        ),
        Column(
            "first_offset",
            ColumnType.LONG,
            "stage lost: first offset of the messages that Kafka deleted unread",
            public=False,
        ),
        Column(
            "next_offset",
            ColumnType.LONG,
            "stage lost: offset after the last of these messages",
            public=False,
        ),
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("topic", "ts", *ROW_KEY),
    subject_column="subject_id",
)

LEDGER = Table(
    name="ledger",
    columns=(
        Column("subject_id", ColumnType.STRING, "website or link"),
        Column("ts", ColumnType.TIMESTAMP, "hour of receipt"),
        Column("topic", ColumnType.STRING, "topic"),
        *OFFSET_COLUMNS,
        Column(
            "received",
            ColumnType.LONG,
            "items received = stored + duplicate + quarantined + dropped",
        ),
        Column(
            "stored",
            ColumnType.LONG,
            "rows in the topic's table; negative values correct earlier rows",
        ),
        Column("duplicate", ColumnType.LONG, "items whose event id was stored before"),
        Column(
            "quarantined",
            ColumnType.LONG,
            "items in quarantine: neither duplicates nor replayed",
        ),
        Column("dropped", ColumnType.LONG, "items dropped on purpose"),
        Column("drop_reason", ColumnType.STRING, "reason, when dropped is not 0"),
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("subject_id", "ts", "topic", *ROW_KEY),
    subject_column="subject_id",
)
