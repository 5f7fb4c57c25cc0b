"""Saved funnels of websites."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "funnels",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organization_id", sa.String(length=32), nullable=False),
        sa.Column("website_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("window", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(length=7), nullable=False),
        sa.Column("breakdown", sa.String(length=2048), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("fk_funnels_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["website_id"],
            ["websites.id"],
            name=op.f("fk_funnels_website_id_websites"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_funnels")),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_funnels_name")),
    )
    for owner in ("organization_id", "website_id"):
        op.create_index(op.f(f"ix_funnels_{owner}"), "funnels", [owner], unique=False)


def downgrade() -> None:
    op.drop_table("funnels")
