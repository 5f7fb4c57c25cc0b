"""The secret that signs sign-ins, and sign-ins that ended early, which query processes share."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "sign_in_secrets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_secrets")),
    )
    op.create_table(
        "ended_sign_ins",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ended_sign_ins")),
    )


def downgrade() -> None:
    op.drop_table("ended_sign_ins")
    op.drop_table("sign_in_secrets")
