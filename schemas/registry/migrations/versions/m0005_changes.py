"""Changes: a log of what was written, by whom; followers read what came since."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("record_id", sa.String(length=32), nullable=False),
        sa.Column("organization_id", sa.String(length=32), nullable=True),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_changes")),
    )


def downgrade() -> None:
    op.drop_table("changes")
