"""Accounts of people, their membership in organizations, and their sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def _reference(
    column: str, table: str, of: str, nullable: bool = False
) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column(column, sa.String(32), nullable=nullable),
        sa.ForeignKeyConstraint(
            [column], [f"{of}.id"], name=op.f(f"fk_{table}_{column}_{of}"), ondelete="CASCADE"
        ),
    ]


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=True),
        sa.Column("email_proved", sa.Boolean(), nullable=False),
        sa.Column("second_factor", sa.Boolean(), nullable=False),
        sa.Column("totp_secret", sa.String(512), nullable=True),
        sa.Column("totp_step", sa.BigInteger(), nullable=False),
        sa.Column("recovery_hashes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("email", name=op.f("uq_accounts_email")),
    )
    op.create_table(
        "members",
        sa.Column("id", sa.String(32), nullable=False),
        *_reference("organization_id", "members", "organizations"),
        *_reference("account_id", "members", "accounts", nullable=True),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("role", sa.String(16), nullable=True),
        sa.Column("website_roles", sa.JSON(), nullable=False),
        sa.Column("invitation", sa.String(32), nullable=True),
        sa.Column("invited_by", sa.String(255), nullable=False),
        sa.Column("last_sign_in_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_members")),
        sa.UniqueConstraint("organization_id", "email", name=op.f("uq_members_email")),
    )
    for column in ("organization_id", "account_id"):
        op.create_index(op.f(f"ix_members_{column}"), "members", [column])
    op.create_table(
        "browser_sessions",
        sa.Column("id", sa.String(32), nullable=False),
        *_reference("account_id", "browser_sessions", "accounts"),
        sa.Column("way", sa.String(16), nullable=False),
        sa.Column("browser", sa.String(255), nullable=False),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_browser_sessions")),
    )
    op.create_index(op.f("ix_browser_sessions_account_id"), "browser_sessions", ["account_id"])
    required: sa.Column[bool] = sa.Column(
        "require_second_factor", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("organizations", required)
    with op.batch_alter_table("keys") as keys:
        keys.add_column(sa.Column("person_id", sa.String(32), nullable=True))
        keys.create_foreign_key(
            op.f("fk_keys_person_id_members"), "members", ["person_id"], ["id"], ondelete="CASCADE"
        )
    with op.batch_alter_table("changes") as changes:
        changes.alter_column("actor", existing_type=sa.String(64), type_=sa.String(300))
