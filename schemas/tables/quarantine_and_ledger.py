"""Kept beside the rows: what was not stored, and the account of all that was received."""

from schemas.tables.column import DAY, EPOCH, IDENTITY, ORIGIN, Column, Table, Type

QUARANTINE = Table(
    name="quarantine",
    columns=(
        Column("subject_id", Type.STRING, "website or link, when it could be read"),
        Column("ts", Type.TIMESTAMP, "when it was received, as far as known"),
        Column("topic", Type.STRING, "topic it came through"),
        *ORIGIN,
        Column("stage", Type.STRING, "decode, enrich, write, duplicate or lost"),
        Column("reason", Type.STRING, "what was wrong, or whose copy it is"),
        Column("payload", Type.STRING, "the bytes, as base64, cut at 64 KiB"),
        EPOCH,
        DAY,
    ),
    order=("topic", "ts", *IDENTITY),
    subject="subject_id",
)

LEDGER = Table(
    name="ledger",
    columns=(
        Column("subject_id", Type.STRING, "website or link"),
        Column("ts", Type.TIMESTAMP, "hour of receipt"),
        Column("topic", Type.STRING, "topic"),
        *ORIGIN,
        Column(
            "received", Type.LONG, "items received = stored + duplicate + quarantined + dropped"
        ),
        Column(
            "stored", Type.LONG, "rows in the topic's table; below 0 takes back an earlier row's"
        ),
        Column("duplicate", Type.LONG, "items whose event id was seen before"),
        Column("quarantined", Type.LONG, "rows in quarantine, duplicates aside"),
        Column("dropped", Type.LONG, "items left out on purpose"),
        Column("drop_reason", Type.STRING, "why, when dropped is not 0"),
        EPOCH,
        DAY,
    ),
    order=("subject_id", "ts", "topic", *IDENTITY),
    subject="subject_id",
)
