"""Identities: profile ids and traits of visitors."""

from schemas.tables.column import (
    BOT_COLUMNS,
    DAY_COLUMN,
    EPOCH_COLUMN,
    TIME_ORDER,
    TRUSTED_COLUMN,
    WEBSITE_ROW_COLUMNS,
    Column,
    ColumnType,
    Table,
)

IDENTITIES = Table(
    name="identities",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        Column("profile_id", ColumnType.STRING, "profile id in the sender's system"),
        Column("traits", ColumnType.STRING, "traits of the profile, as JSON text"),
        *BOT_COLUMNS,
        TRUSTED_COLUMN,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)
