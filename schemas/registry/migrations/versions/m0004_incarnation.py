"""Incarnation: which making of the registry its revisions count in."""

import sqlalchemy as sa
from alembic import op

from schemas.registry.ids import random_id

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column(
        "revision",
        sa.Column("incarnation", sa.String(length=32), nullable=False, server_default=""),
    )
    drawn = sa.text("UPDATE revision SET incarnation = :drawn").bindparams(drawn=random_id(16))
    op.execute(drawn)


def downgrade() -> None:
    op.drop_column("revision", "incarnation")
