"""Order and exclusions of saved funnels."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    order = sa.Column("order", sa.String(8), nullable=False, server_default="sequence")
    op.add_column("funnels", order)
    exclusions = sa.Column("exclusions", sa.JSON(), nullable=False, server_default="[]")
    op.add_column("funnels", exclusions)
