"""Registry tables and engines for SQLite and PostgreSQL."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from schemas.registry.records import LINK_FIELDS, LinkFieldKind

CONNECTION_LIMITS = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""libpq parameters, by which a server that is gone is noticed; those of the URL override them."""

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _owner_column() -> sa.Column[str]:
    return sa.Column(
        "organization_id",
        sa.String(32),
        sa.ForeignKey("organizations.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    )


def _subject_columns() -> Iterator[sa.Column[str]]:
    """The website or the link of a record that is about one of them, or about neither."""
    for owner in ("website", "link"):
        reference = sa.ForeignKey(f"{owner}s.id", ondelete="CASCADE")
        yield sa.Column(f"{owner}_id", sa.String(32), reference, index=True)


def _timestamp_columns() -> tuple[sa.Column[int], sa.Column[int]]:
    return (
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )


def _link_columns() -> list[sa.Column[Any]]:
    """The columns of the optional fields of a link; a migration adds each to older databases."""
    return [
        sa.Column(
            name,
            sa.BigInteger() if field.kind is LinkFieldKind.INSTANT else sa.String(field.max_length),
            index=field.indexed or None,
        )
        for name, field in LINK_FIELDS.items()
    ]


ORGANIZATIONS = sa.Table(
    "organizations",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("plan", sa.String(32), nullable=False),
    sa.Column("limits", sa.JSON, nullable=False),
    sa.Column("keep_days", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("require_second_factor", sa.Boolean, nullable=False, server_default=sa.false()),
    *_timestamp_columns(),
)

ACCOUNTS = sa.Table(
    "accounts",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("email", sa.String(254), nullable=False, unique=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("password_hash", sa.String(255)),
    sa.Column("email_proved", sa.Boolean, nullable=False),
    sa.Column("second_factor", sa.Boolean, nullable=False),
    sa.Column("totp_secret", sa.String(512)),
    sa.Column("totp_step", sa.BigInteger, nullable=False),
    sa.Column("recovery_hashes", sa.JSON, nullable=False),
    *_timestamp_columns(),
)

MEMBERS = sa.Table(
    "members",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    sa.Column(
        "account_id",
        sa.String(32),
        sa.ForeignKey("accounts.id", ondelete="CASCADE"),
        index=True,
    ),
    sa.Column("email", sa.String(254), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("role", sa.String(16)),
    sa.Column("website_roles", sa.JSON, nullable=False),
    sa.Column("invitation", sa.String(32)),
    sa.Column("invited_by", sa.String(255), nullable=False),
    sa.Column("last_sign_in_at", sa.BigInteger),
    *_timestamp_columns(),
    sa.UniqueConstraint("organization_id", "email", name="uq_members_email"),
)

WEBSITES = sa.Table(
    "websites",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    sa.Column("domain", sa.String(255), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("allowed_origins", sa.JSON, nullable=False, server_default="[]"),
    sa.Column("keep_days", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("contract", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("privacy", sa.JSON, nullable=False, server_default="{}"),
    *_timestamp_columns(),
)

LINKS = sa.Table(
    "links",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("target_url", sa.String(2048), nullable=False),
    sa.Column("slug", sa.String(64), nullable=False, unique=True),
    *_link_columns(),
    *_timestamp_columns(),
)

KEYS = sa.Table(
    "keys",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    sa.Column("website_id", sa.String(32), sa.ForeignKey("websites.id", ondelete="CASCADE")),
    sa.Column("person_id", sa.String(32), sa.ForeignKey("members.id", ondelete="CASCADE")),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("secret_hash", sa.String(64), nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Column("last_used_at", sa.BigInteger),
    *_timestamp_columns(),
)

IMPORTS = sa.Table(
    "imports",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    sa.Column(
        "website_id",
        sa.String(32),
        sa.ForeignKey("websites.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("product", sa.String(16), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("lines", sa.BigInteger, nullable=False),
    sa.Column("accepted", sa.BigInteger, nullable=False),
    sa.Column("rejected", sa.BigInteger, nullable=False),
    sa.Column("removed", sa.BigInteger, nullable=False),
    sa.Column("upload", sa.JSON, nullable=False),
    *_timestamp_columns(),
)

ERASURES = sa.Table(
    "erasures",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    *_subject_columns(),
    sa.Column("selector", sa.String(16), nullable=False),
    sa.Column("property_name", sa.String(255), nullable=False),
    sa.Column("value_hashes", sa.JSON, nullable=False),
    sa.Column("erased_values", sa.JSON, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("report", sa.JSON, nullable=False),
    *_timestamp_columns(),
)

REPLAYS = sa.Table(
    "replays",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _owner_column(),
    *_subject_columns(),
    sa.Column("days", sa.BigInteger, nullable=False),
    sa.Column("stage", sa.String(16)),
    sa.Column("reason_contains", sa.String(1000)),
    sa.Column("position", sa.String(300)),
    sa.Column("item_changes", sa.JSON, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("report", sa.JSON, nullable=False),
    sa.Column("planned_items", sa.JSON, nullable=False),
    *_timestamp_columns(),
)

DELETIONS = sa.Table(
    "deletions",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("organization_id", sa.String(32), nullable=False, index=True),
    sa.Column("record_kind", sa.String(16), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("subjects", sa.JSON, nullable=False),
    sa.Column("records", sa.JSON, nullable=False),
    sa.Column("purged_at", sa.BigInteger),
    *_timestamp_columns(),
)
"""Deleted websites and organizations with all that belonged to them; see `deletions.py`."""

CHANGES = sa.Table(
    "changes",
    METADATA,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.String(300), nullable=False),
    sa.Column("action", sa.String(16), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("record_id", sa.String(32), nullable=False),
    sa.Column("organization_id", sa.String(32)),
    sa.Column("fields", sa.JSON, nullable=False),
    sa.Column("website_id", sa.String(32)),
    sa.Column("before", sa.JSON(none_as_null=True)),
    sa.Column("after", sa.JSON(none_as_null=True)),
    sa.Index(None, "organization_id", "number"),
)
"""Audit trail: one row per revision, append-only; see `transaction.py`."""

REVISION = sa.Table(
    "revision",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("incarnation", sa.String(32), nullable=False, server_default=""),
    sa.Column("receipt_secret", sa.String(64), nullable=False, server_default=""),
)
"""One row: the revision, which every write raises in its transaction and followers poll.

The incarnation is a random id, new for each created or restored registry; revisions of different
incarnations are not comparable. The secret that signs receipts is part of backups.
"""

DAILY_SALTS = sa.Table(
    "daily_salts",
    METADATA,
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("salt", sa.String(64), nullable=False),
)
"""Salts of anonymous visitors, which no backup has; see `daily_salts.py`."""

SIGN_IN_SECRETS = sa.Table(
    "sign_in_secrets",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("secret", sa.String(64), nullable=False),
)
ENDED_SIGN_INS = sa.Table(
    "ended_sign_ins",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("ends_at", sa.BigInteger, nullable=False),
)

BROWSER_SESSIONS = sa.Table(
    "browser_sessions",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column(
        "account_id",
        sa.String(32),
        sa.ForeignKey("accounts.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    sa.Column("way", sa.String(16), nullable=False),
    sa.Column("browser", sa.String(255), nullable=False),
    sa.Column("network", sa.String(64), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger, nullable=False),
    sa.Column("ends_at", sa.BigInteger, nullable=False),
)
"""One row with the secret of sign-ins, tokens that ended early, and the sessions of people; see
`sign_ins.py`."""


def _reference(name: str, of: str, *, nullable: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey(f"{of}.id", ondelete="CASCADE")
    return sa.Column(name, sa.String(32), reference, nullable=nullable, index=True)


ALERT_STATES = sa.Table(
    "alert_states",
    METADATA,
    sa.Column(
        "alert_id", sa.String(32), sa.ForeignKey("alerts.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("checked_until", sa.BigInteger, nullable=False),
    sa.Column("firing_since", sa.BigInteger, nullable=True),
    sa.Column("value", sa.Float, nullable=True),
    sa.Column("problem", sa.String(1000), nullable=False),
)

NOTICES = sa.Table(
    "notices",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _reference("website_id", "websites"),
    _reference("alert_id", "alerts", nullable=True),
    _reference("report_id", "reports", nullable=True),
    sa.Column("event", sa.String(16), nullable=False),
    sa.Column("start_at", sa.BigInteger, nullable=False),
    sa.Column("end_at", sa.BigInteger, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    sa.Column("repetition", sa.String(96), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("repetition", name="uq_notices_repetition"),
)

DELIVERIES = sa.Table(
    "deliveries",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    _reference("notice_id", "notices"),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("target", sa.String(320), nullable=False),
    sa.Column("due_at", sa.BigInteger, nullable=True, index=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("tried_at", sa.BigInteger, nullable=True),
    sa.Column("delivered_at", sa.BigInteger, nullable=True),
    sa.Column("failed_at", sa.BigInteger, nullable=True),
    sa.Column("problem", sa.String(1000), nullable=False),
    sa.UniqueConstraint("notice_id", "target", name="uq_deliveries_target"),
)

LEASES = sa.Table(
    "leases",
    METADATA,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("ends_at", sa.BigInteger, nullable=False),
)
"""States of alerts, what alerts and reports tell, and who runs the notifier; see `notices.py`."""


def create_engine(url: str, create: bool = False) -> sa.Engine:
    """An engine for the registry; SQLite with WAL, foreign keys and a busy timeout.

    With `create` a missing SQLite file is created. Errors show no bound values and no password.
    """
    options: dict[str, Any] = {"hide_parameters": True}
    if (path := sqlite_path(url)) is not None:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        options["creator"] = _opener(path, create)
    else:
        options["pool_pre_ping"] = True  # a restarted server has closed all connections
        options["connect_args"] = {**CONNECTION_LIMITS, **_parse_url(url).query}
        # The follower logs one line where the pool would log a traceback per connection.
        logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
    engine = sa.create_engine(_parse_url(url), **options)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_pragmas)
    return engine


def sqlite_path(url: str) -> Path | None:
    """File of a SQLite registry; None for a database server."""
    parsed = _parse_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, ":memory:"):
        return None
    return Path(str(parsed.database))


def _parse_url(url: str) -> sa.URL:
    if url.startswith(("postgresql://", "postgres://")):
        url = "postgresql+psycopg://" + url.split("://", 1)[1]
    try:
        return sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # Their messages repeat parts of the URL, possibly of the password.
        raise sa.exc.ArgumentError(
            "TIDEMARK_REGISTRY is not a database URL; is its password percent-encoded?"
        ) from None


def _opener(path: Path, create: bool) -> Callable[[], sqlite3.Connection]:
    """Opens the SQLite file."""
    uri = f"file:{quote(str(path))}?mode={'rwc' if create else 'rw'}"
    return lambda: sqlite3.connect(uri, uri=True, timeout=10, check_same_thread=False)


@contextmanager
def read_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection whose reads see one snapshot of the database."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")  # the driver begins transactions for writes only
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


def _set_pragmas(connection: Any, _record: object) -> None:
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")
