"""Erasures: rows that are removed for good, and the tombstones that keep them away."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

OWNERS = {"organization_id": "organizations", "website_id": "websites", "link_id": "links"}


def upgrade() -> None:
    op.create_table(
        "erasures",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=owner != "organization_id") for owner in OWNERS),
        sa.Column("selector", sa.String(16), nullable=False),
        sa.Column("property_name", sa.String(255), nullable=False),
        sa.Column("value_hashes", sa.JSON(), nullable=False),
        sa.Column("erased_values", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_erasures_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_erasures_{owner}"), "erasures", [owner])
