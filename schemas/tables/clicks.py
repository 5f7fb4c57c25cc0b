"""Clicks on short links."""

from schemas.tables.column import (
    AGENT,
    BOT,
    DAY,
    EPOCH,
    IN_TIME,
    ORIGIN,
    PLACE,
    WHEN,
    Column,
    Table,
    Type,
)

CLICKS = Table(
    name="clicks",
    columns=(
        Column("link_id", Type.STRING, "the link"),
        Column("organization_id", Type.STRING, "its organization", public=False),
        *WHEN,
        *ORIGIN,
        Column("event_id", Type.STRING, "the click's own id"),
        Column("anonymous_id", Type.STRING, "visitor: keyed daily hash of cut address and agent"),
        Column("visitor_hash", Type.LONG, "anonymous_id as 63 bits", public=False),
        Column("slug", Type.STRING, "slug that was asked for"),
        Column("referrer", Type.STRING, "referring URL without query, or Direct"),
        Column("referrer_name", Type.STRING, "who that is, or Direct"),
        Column("referrer_type", Type.STRING, "as in events"),
        Column("channel", Type.STRING, "as in events"),
        *AGENT,
        *PLACE,
        *BOT,
        EPOCH,
        DAY,
    ),
    order=("link_id", *IN_TIME),
    subject="link_id",
)
