"""Aliases: ids by which trackers of other products name a website."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0018"

OWNERS = {"organization_id": "organizations", "website_id": "websites"}


def upgrade() -> None:
    op.create_table(
        "aliases",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=False) for owner in OWNERS),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("product", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_aliases")),
        sa.UniqueConstraint("product", "name", name=op.f("uq_aliases_name")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_aliases_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_aliases_{owner}"), "aliases", [owner])
