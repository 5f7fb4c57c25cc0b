"""Shields: what a website does not count."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

OWNERS = {"organization_id": "organizations", "website_id": "websites"}


def upgrade() -> None:
    op.create_table(
        "shields",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=False) for owner in OWNERS),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("value", sa.String(2048), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shields")),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_shields_name")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_shields_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_shields_{owner}"), "shields", [owner])
