"""Clicks on short links."""

from schemas.tables.column import (
    BOT_COLUMNS,
    DAY_COLUMN,
    EPOCH_COLUMN,
    LOCATION_COLUMNS,
    OFFSET_COLUMNS,
    TIME_COLUMNS,
    TIME_ORDER,
    USER_AGENT_COLUMNS,
    Column,
    ColumnType,
    Table,
)

CLICKS = Table(
    name="clicks",
    columns=(
        Column("link_id", ColumnType.STRING, "the link"),
        Column("organization_id", ColumnType.STRING, "its organization", public=False),
        *TIME_COLUMNS,
        *OFFSET_COLUMNS,
        Column("event_id", ColumnType.STRING, "the click's own id"),
        Column(
            "anonymous_id", ColumnType.STRING, "visitor: keyed daily hash of cut address and agent"
        ),
        Column("visitor_hash", ColumnType.LONG, "anonymous_id as 63 bits", public=False),
        Column("slug", ColumnType.STRING, "slug that was asked for"),
        Column("referrer", ColumnType.STRING, "referring URL without query, or Direct"),
        Column("referrer_name", ColumnType.STRING, "who that is, or Direct"),
        Column("referrer_type", ColumnType.STRING, "as in events"),
        Column("channel", ColumnType.STRING, "as in events"),
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        *BOT_COLUMNS,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("link_id", *TIME_ORDER),
    subject_column="link_id",
)
