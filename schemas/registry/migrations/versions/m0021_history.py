"""Imports of what clients of other products send as history; copies for the other product."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("imports", sa.Column("product", sa.String(16), server_default="", nullable=False))
    op.add_column("aliases", sa.Column("tee_url", sa.String(2048), nullable=True))
