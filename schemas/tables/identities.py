"""Identities: profile ids and traits of visitors."""

from typing import Annotated

from msgspec import Meta, Raw

from schemas.items import EMPTY_RAW, Item
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
from schemas.tables.item_kind import Kind


class Identity(Item, kw_only=True):
    """A visitor's profile id in the sender's system, with traits."""

    profile_id: Annotated[str, Meta(min_length=1, max_length=128)]
    traits: Raw = EMPTY_RAW


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

VISITOR_IDENTITY = Kind(
    name="identity",
    description="identified visitors, with traits",
    path="/identify",
    item=Identity,
    topic="identities",
    table=IDENTITIES,
    tracker_type="identify",
    examples={
        "a visitor who signed in": {
            "profileId": "user-7",
            "anonymousId": "a1",
            "traits": {"plan": "pro"},
        }
    },
)
