"""Saved records of websites: goals, segments, annotations and money properties."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    _create(
        "goals",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("event", sa.String(length=255), nullable=True),
        sa.Column("path", sa.String(length=2048), nullable=True),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("value_property", sa.String(length=255), nullable=True),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_goals_name")),
    )
    _create(
        "segments",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=1000), nullable=True),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_segments_name")),
    )
    _create(
        "annotations",
        sa.Column("start", sa.String(length=40), nullable=False),
        sa.Column("end", sa.String(length=40), nullable=True),
        sa.Column("text", sa.String(length=1000), nullable=False),
        sa.Column("link", sa.String(length=2048), nullable=True),
    )
    _create(
        "money",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("event", sa.String(length=255), nullable=False),
        sa.Column("property", sa.String(length=255), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=True),
        sa.Column("currency_property", sa.String(length=255), nullable=True),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_money_name")),
    )


def downgrade() -> None:
    for table in ("money", "annotations", "segments", "goals"):
        op.drop_table(table)


def _create(table: str, *own: Any) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organization_id", sa.String(length=32), nullable=False),
        sa.Column("website_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        *own,
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f(f"fk_{table}_organization_id_organizations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["website_id"],
            ["websites.id"],
            name=op.f(f"fk_{table}_website_id_websites"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    for owner in ("organization_id", "website_id"):
        op.create_index(op.f(f"ix_{table}_{owner}"), table, [owner], unique=False)
