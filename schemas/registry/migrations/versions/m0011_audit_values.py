"""The audit trail has the website and the values before and after a change; read by tenant."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("changes", sa.Column("website_id", sa.String(length=32), nullable=True))
    op.add_column("changes", sa.Column("before", sa.JSON(), nullable=True))
    op.add_column("changes", sa.Column("after", sa.JSON(), nullable=True))
    op.create_index("ix_changes_organization_id", "changes", ["organization_id", "number"])


def downgrade() -> None:
    op.drop_index("ix_changes_organization_id", "changes")
    for column in ("after", "before", "website_id"):
        op.drop_column("changes", column)
