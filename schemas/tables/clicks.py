"""Clicks on short links."""

from typing import Annotated

from msgspec import Meta

from schemas.items import Item, UrlText
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
from schemas.tables.item_kind import Kind


class Click(Item, kw_only=True):
    """One click on a short link; the collector creates it."""

    slug: Annotated[str, Meta(max_length=64)]
    referrer: UrlText | None = None


CLICKS = Table(
    name="clicks",
    columns=(
        Column("link_id", ColumnType.STRING, "the link"),
        Column("organization_id", ColumnType.STRING, "its organization", public=False),
        *TIME_COLUMNS,
        *OFFSET_COLUMNS,
        Column(
            "event_id", ColumnType.STRING, "id of a click that was sent again from the quarantine"
        ),
        Column(
            "anonymous_id",
            ColumnType.STRING,
            "visitor: keyed hash of client network and user agent, for one day",
        ),
        Column("visitor_hash", ColumnType.LONG, "anonymous_id as 63 bits", public=False),
        Column("slug", ColumnType.STRING, "slug of the link"),
        Column("referrer", ColumnType.STRING, "referring URL without query, or Direct"),
        Column("referrer_name", ColumnType.STRING, "name of the referrer, or Direct"),
        Column("referrer_type", ColumnType.STRING, "as in events"),
        Column("channel", ColumnType.STRING, "as in events"),
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        *BOT_COLUMNS,
        Column(
            "event_hash",
            ColumnType.LONG,
            "deduplication key: 63-bit hash of event_id",
            public=False,
        ),
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("link_id", *TIME_ORDER),
    subject_column="link_id",
)

CLICK = Kind(
    name="click",
    description="clicks on short links",
    item=Click,
    topic="clicks",
    table=CLICKS,
)
