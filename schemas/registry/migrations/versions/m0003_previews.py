"""Previews: what bots get that show a preview of a link."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

COLUMNS = (
    ("og_title", 200),
    ("og_description", 500),
    ("og_image_url", 2048),
    ("og_video_url", 2048),
)


def upgrade() -> None:
    for name, most in COLUMNS:
        op.add_column("links", sa.Column(name, sa.String(length=most), nullable=True))


def downgrade() -> None:
    for name, _ in reversed(COLUMNS):
        op.drop_column("links", name)
