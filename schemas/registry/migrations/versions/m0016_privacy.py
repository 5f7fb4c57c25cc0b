"""Privacy of websites: what is left out of their items."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("websites", sa.Column("privacy", sa.JSON(), server_default="{}", nullable=False))
