"""Channels, alerts and reports; notices, their deliveries, and who evaluates."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

OWNERS = {"organization_id": "organizations", "website_id": "websites"}


def _reference(
    column: str, table: str, of: str, nullable: bool = False
) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column(column, sa.String(32), nullable=nullable),
        sa.ForeignKeyConstraint(
            [column], [f"{of}.id"], name=op.f(f"fk_{table}_{column}_{of}"), ondelete="CASCADE"
        ),
    ]


def _saved(table: str) -> Iterator[sa.schema.SchemaItem]:
    """What every table of saved records has."""
    yield sa.Column("id", sa.String(32), nullable=False)
    for column, of in OWNERS.items():
        yield from _reference(column, table, of)
    yield sa.Column("created_at", sa.BigInteger(), nullable=False)
    yield sa.Column("updated_at", sa.BigInteger(), nullable=False)
    yield sa.Column("name", sa.String(255), nullable=False)
    yield sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}"))
    yield sa.UniqueConstraint("website_id", "name", name=op.f(f"uq_{table}_name"))


def upgrade() -> None:
    op.create_table(
        "channels",
        *_saved("channels"),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("address", sa.String(4096), nullable=True),
        sa.Column("token", sa.String(2048), nullable=True),
        sa.Column("chat", sa.String(255), nullable=True),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("signing_secret", sa.String(1024), nullable=False),
    )
    op.create_table(
        "alerts",
        *_saved("alerts"),
        sa.Column("metrics_query", sa.JSON(), nullable=True),
        sa.Column("custom_query", sa.JSON(), nullable=True),
        sa.Column("standard_query", sa.JSON(), nullable=True),
        sa.Column("signal", sa.String(10), nullable=True),
        sa.Column("column", sa.String(255), nullable=True),
        sa.Column("condition", sa.String(7), nullable=False),
        sa.Column("threshold", sa.JSON(), nullable=True),
        sa.Column("against", sa.String(8), nullable=False),
        sa.Column("every", sa.String(12), nullable=False),
        sa.Column("quiet_hours", sa.String(11), nullable=True),
        sa.Column("muted_until", sa.String(40), nullable=True),
        sa.Column("recovery", sa.JSON(), nullable=False),
        sa.Column("recipients", sa.JSON(), nullable=False),
        sa.Column("channels", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(255), nullable=True),
    )
    op.create_table(
        "reports",
        *_saved("reports"),
        sa.Column("schedule", sa.String(7), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("explorations", sa.JSON(), nullable=False),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("attach", sa.String(4), nullable=False),
        sa.Column("compare", sa.JSON(), nullable=False),
        sa.Column("paused", sa.JSON(), nullable=False),
        sa.Column("recipients", sa.JSON(), nullable=False),
        sa.Column("channels", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(255), nullable=True),
    )
    for table in ("channels", "alerts", "reports"):
        for owner in OWNERS:
            op.create_index(op.f(f"ix_{table}_{owner}"), table, [owner])
    op.create_table(
        "alert_states",
        *_reference("alert_id", "alert_states", "alerts"),
        sa.Column("checked_until", sa.BigInteger(), nullable=False),
        sa.Column("firing_since", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("problem", sa.String(1000), nullable=False),
        sa.PrimaryKeyConstraint("alert_id", name=op.f("pk_alert_states")),
    )
    op.create_table(
        "notices",
        sa.Column("id", sa.String(32), nullable=False),
        *_reference("website_id", "notices", "websites"),
        *_reference("alert_id", "notices", "alerts", nullable=True),
        *_reference("report_id", "notices", "reports", nullable=True),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("start_at", sa.BigInteger(), nullable=False),
        sa.Column("end_at", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("repetition", sa.String(96), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("repetition", name=op.f("uq_notices_repetition")),
    )
    for column in ("website_id", "alert_id", "report_id"):
        op.create_index(op.f(f"ix_notices_{column}"), "notices", [column])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(32), nullable=False),
        *_reference("notice_id", "deliveries", "notices"),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("target", sa.String(320), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tried_at", sa.BigInteger(), nullable=True),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("failed_at", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.String(1000), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("notice_id", "target", name=op.f("uq_deliveries_target")),
    )
    for column in ("notice_id", "due_at"):
        op.create_index(op.f(f"ix_deliveries_{column}"), "deliveries", [column])
    op.create_table(
        "leases",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
