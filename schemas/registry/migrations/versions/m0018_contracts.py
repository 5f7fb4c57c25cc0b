"""Event contracts of websites."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("websites", sa.Column("contract", sa.JSON(), server_default="{}", nullable=False))
