"""Boards, and the board of a report."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

OWNERS = {"organization_id": "organizations", "website_id": "websites"}


def upgrade() -> None:
    op.create_table(
        "boards",
        sa.Column("id", sa.String(32), nullable=False),
        *(sa.Column(owner, sa.String(32), nullable=False) for owner in OWNERS),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("tiles", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(255), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_boards")),
        sa.UniqueConstraint("website_id", "name", name=op.f("uq_boards_name")),
        *(
            sa.ForeignKeyConstraint(
                [owner],
                [f"{table}.id"],
                name=op.f(f"fk_boards_{owner}_{table}"),
                ondelete="CASCADE",
            )
            for owner, table in OWNERS.items()
        ),
    )
    for owner in OWNERS:
        op.create_index(op.f(f"ix_boards_{owner}"), "boards", [owner])
    op.add_column("reports", sa.Column("board", sa.String(64), nullable=True))
