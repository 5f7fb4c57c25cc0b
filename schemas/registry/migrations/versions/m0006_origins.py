"""Origins: which sites may send for a website; and when a key was last used."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column(
        "websites", sa.Column("allowed_origins", sa.JSON(), nullable=False, server_default="[]")
    )
    op.add_column("keys", sa.Column("last_used_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("keys", "last_used_at")
    op.drop_column("websites", "allowed_origins")
