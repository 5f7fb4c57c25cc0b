"""The secret with which collectors sign receipts, and query services verify them."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column(
        "revision",
        sa.Column("receipt_secret", sa.String(length=64), nullable=False, server_default=""),
    )
    drawn = sa.text("UPDATE revision SET receipt_secret = :drawn")
    op.execute(drawn.bindparams(drawn=secrets.token_hex(32)))
    # A registry in use is in a new state, so that followers read it and it is backed up.
    op.execute(sa.text("UPDATE revision SET number = number + 1 WHERE number > 0"))


def downgrade() -> None:
    op.drop_column("revision", "receipt_secret")
