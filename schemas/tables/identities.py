"""Who a visitor says to be: the sender's own id of a person, and what it knows of them."""

from schemas.tables.column import BOT, DAY, EPOCH, IN_TIME, OF_WEBSITE, TRUSTED, Column, Table, Type

IDENTITIES = Table(
    name="identities",
    columns=(
        *OF_WEBSITE,
        Column("profile_id", Type.STRING, "the sender's own id of the person"),
        Column("traits", Type.STRING, "what the sender says of the person, as JSON text"),
        *BOT,
        TRUSTED,
        EPOCH,
        DAY,
    ),
    order=("website_id", *IN_TIME),
)
