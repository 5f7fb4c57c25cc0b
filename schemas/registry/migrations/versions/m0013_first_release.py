"""The tables of the first release. Earlier migrations were never released, and are squashed here.

The number is that of the last of them, so that a registry that they made is current.
"""

import secrets
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from schemas.registry.ids import random_id

revision = "0013"
down_revision = None

ORGANIZATION, WEBSITE = "organization_id", "website_id"
OWNER_TABLES = {ORGANIZATION: "organizations", WEBSITE: "websites"}


def upgrade() -> None:
    _create_process_tables()
    _create_records("organizations", _text("name"), _text("plan", 32), _json("limits"), owners=())
    _create_records(
        "links",
        _text("name"),
        _text("target_url", 2048),
        _text("slug", 64),
        _text("external_id", nullable=True),
        _number("expires_at", nullable=True),
        *(_text(name, 2048, nullable=True) for name in ("expired_redirect_url", "ios_url")),
        _text("android_url", 2048, nullable=True),
        _text("og_title", 200, nullable=True),
        _text("og_description", 500, nullable=True),
        *(_text(name, 2048, nullable=True) for name in ("og_image_url", "og_video_url")),
        sa.UniqueConstraint("slug", name=op.f("uq_links_slug")),
        owners=[ORGANIZATION],
    )
    op.create_index(op.f("ix_links_external_id"), "links", ["external_id"])
    _create_records(
        "websites",
        _text("domain"),
        _text("name"),
        _text("timezone", 64),
        sa.Column("allowed_origins", sa.JSON(), server_default="[]", nullable=False),
        owners=[ORGANIZATION],
    )
    _create_records(
        "keys",
        _text(WEBSITE, 32, nullable=True),
        _text("name"),
        _json("scopes"),
        _text("secret_hash", 64),
        *(_number(name, nullable=True) for name in ("expires_at", "revoked_at", "last_used_at")),
        _foreign_key("keys", WEBSITE),
        owners=[ORGANIZATION],
    )
    _create_records(
        "imports",
        _text("name"),
        _text("fingerprint", 64),
        _text("state", 16),
        *(_number(name) for name in ("lines", "accepted", "rejected", "removed")),
    )
    _create_saved_records()
    op.execute(
        sa.text(
            "INSERT INTO revision (id, number, incarnation, receipt_secret)"
            " VALUES (1, 0, :incarnation, :receipt_secret)"
        ).bindparams(incarnation=random_id(16), receipt_secret=secrets.token_hex(32))
    )


def _create_process_tables() -> None:
    """What processes share: revision, audit trail, secrets and salts."""
    _create(
        "revision",
        sa.Column("id", sa.Integer(), nullable=False),
        _number("number"),
        sa.Column("incarnation", sa.String(32), server_default="", nullable=False),
        sa.Column("receipt_secret", sa.String(64), server_default="", nullable=False),
    )
    _create(
        "changes",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        _number("at"),
        _text("actor", 64),
        _text("action", 16),
        _text("kind", 16),
        _text("record_id", 32),
        _text(ORGANIZATION, 32, nullable=True),
        _json("fields"),
        _text(WEBSITE, 32, nullable=True),
        *(
            sa.Column(name, sa.JSON(none_as_null=True), nullable=True)
            for name in ("before", "after")
        ),
    )
    op.create_index(op.f("ix_changes_organization_id"), "changes", [ORGANIZATION, "number"])
    _create("daily_salts", _text("day", 10), _text("salt", 64))
    _create(
        "sign_in_secrets",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        _text("secret", 64),
    )
    _create("ended_sign_ins", _text("id", 32), _number("ends_at"))


def _create_saved_records() -> None:
    """Goals, segments, funnels, annotations, money properties and shares of websites."""
    _create_records(
        "goals",
        _text("name"),
        _text("event", nullable=True),
        _text("path", 2048, nullable=True),
        _json("filters"),
        _text("value_property", nullable=True),
        _unique_name("goals"),
    )
    _create_records(
        "segments",
        _text("name"),
        _text("description", 1000, nullable=True),
        _json("filters"),
        _unique_name("segments"),
    )
    _create_records(
        "annotations",
        _text("start", 40),
        _text("end", 40, nullable=True),
        _text("text", 1000),
        _text("link", 2048, nullable=True),
    )
    _create_records(
        "money",
        _text("name"),
        _text("event"),
        _text("property"),
        _text("currency", 3, nullable=True),
        _text("currency_property", nullable=True),
        _unique_name("money"),
    )
    _create_records(
        "shares",
        _text("name"),
        _json("filters"),
        _text("expires", 40, nullable=True),
        _text("password", nullable=True),
        _json("frame_origins"),
        _text("secret_hash", 64),
        _unique_name("shares"),
    )
    _create_records(
        "funnels",
        _text("name"),
        _json("steps"),
        _number("window"),
        _text("by", 7),
        _text("breakdown", 2048, nullable=True),
        _unique_name("funnels"),
    )


def _create_records(
    table: str, *parts: Any, owners: Sequence[str] = (ORGANIZATION, WEBSITE)
) -> None:
    """A table of records with an id, their owners and times."""
    _create(
        table,
        _text("id", 32),
        *(_text(owner, 32) for owner in owners),
        *(_number(name) for name in ("created_at", "updated_at")),
        *parts,
        *(_foreign_key(table, owner) for owner in owners),
    )
    for owner in owners:
        op.create_index(op.f(f"ix_{table}_{owner}"), table, [owner])


def _create(table: str, key: sa.Column[Any], *parts: Any) -> None:
    """A table whose primary key is the first column."""
    primary_key = sa.PrimaryKeyConstraint(key.name, name=op.f(f"pk_{table}"))
    op.create_table(table, key, *parts, primary_key)


def _text(name: str, length: int = 255, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=nullable)


def _number(name: str, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON(), nullable=False)


def _unique_name(table: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(WEBSITE, "name", name=op.f(f"uq_{table}_name"))


def _foreign_key(table: str, owner: str) -> sa.ForeignKeyConstraint:
    owners = OWNER_TABLES[owner]
    name = op.f(f"fk_{table}_{owner}_{owners}")
    return sa.ForeignKeyConstraint([owner], [f"{owners}.id"], name=name, ondelete="CASCADE")
