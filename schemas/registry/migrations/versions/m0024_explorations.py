"""Explorations: saved metrics queries and custom queries."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

OWNERS = {"organization_id": "organizations", "website_id": "websites"}


def upgrade() -> None:
    op.create_table(
        "explorations",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=False) for owner in OWNERS),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("description", sa.String(1000), nullable=True),
        sa.Column("metrics_query", sa.JSON(), nullable=True),
        sa.Column("custom_query", sa.JSON(), nullable=True),
        sa.Column("shape", sa.String(6), nullable=True),
        sa.Column("created_by", sa.String(255), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_explorations")),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_explorations_name")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_explorations_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_explorations_{owner}"), "explorations", [owner])
