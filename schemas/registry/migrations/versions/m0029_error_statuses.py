"""Statuses of errors."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

OWNERS = {"organization_id": "organizations", "website_id": "websites"}


def upgrade() -> None:
    op.create_table(
        "error_statuses",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=False) for owner in OWNERS),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.String(2048), nullable=False),
        sa.Column("error_type", sa.String(128), nullable=True),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("release", sa.String(64), nullable=True),
        sa.Column("created_by", sa.String(255), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_error_statuses")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_error_statuses_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_error_statuses_{owner}"), "error_statuses", [owner])
