"""Uploads: files of imports that are sent over HTTP."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("imports", sa.Column("upload", sa.JSON(), nullable=False, server_default="{}"))
