"""Salts of anonymous visitors, which collectors of several machines share."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "daily_salts",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("salt", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_daily_salts")),
    )


def downgrade() -> None:
    op.drop_table("daily_salts")
