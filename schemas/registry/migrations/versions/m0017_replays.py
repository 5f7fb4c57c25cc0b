"""Replays: items of the quarantine that the keeper sends again."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

OWNERS = {"organization_id": "organizations", "website_id": "websites", "link_id": "links"}


def upgrade() -> None:
    op.create_table(
        "replays",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=owner != "organization_id") for owner in OWNERS),
        sa.Column("days", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.String(16)),
        sa.Column("reason_contains", sa.String(1000)),
        sa.Column("position", sa.String(300)),
        sa.Column("item_changes", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("planned_items", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replays")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_replays_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_replays_{owner}"), "replays", [owner])
