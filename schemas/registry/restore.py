"""Restores a registry from a backup, and detects a missing or damaged registry."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from schemas.registry import database
from schemas.registry.contents import Contents
from schemas.registry.database_file import DatabaseFileWatch, RegistryLost
from schemas.registry.ids import random_id
from schemas.registry.migrate import migrate
from schemas.registry.record_mapping import RECORD_TABLES, to_row
from schemas.registry.records import Action, Change
from schemas.runtime.files import fsync

SQLITE_SUFFIXES = ("", "-wal", "-shm")
"""Suffixes of a SQLite database and its companion files."""


def registry_fault(url: str) -> str | None:
    """Why the registry cannot be used; None when it can. Creates nothing.

    An unreachable database server raises its error, because its registry is not lost.
    """
    path = database.sqlite_path(url)
    if path is not None and (fault := _file_fault(path)) is not None:
        return fault
    engine = database.create_engine(url)
    try:
        with engine.connect() as connection:
            has_tables = sa.inspect(connection).has_table(database.REVISION.name)
            return None if has_tables else f"{_display_url(url)} has no tables"
    finally:
        engine.dispose()


def is_empty(url: str) -> bool:
    """Whether the registry was never written to."""
    engine = database.create_engine(url)
    try:
        with engine.connect() as connection:
            number = sa.select(database.REVISION.c.number)
            return not connection.execute(number).scalar_one()
    finally:
        engine.dispose()


def readable_revision(url: str) -> int:
    """Revision, even of a damaged file if readable; else -1."""
    path = database.sqlite_path(url)
    if path is None or not path.exists() or not path.stat().st_size:
        return -1
    engine = database.create_engine(url)
    try:
        with engine.connect() as connection:
            number = sa.select(database.REVISION.c.number)
            return int(connection.execute(number).scalar_one())
    except sa.exc.SQLAlchemyError:
        return -1
    finally:
        engine.dispose()


def restore(
    url: str, contents: Contents, revision: int, now_ms: int, actor: str = ""
) -> Path | None:
    """Replace the registry by these contents; returns the path of the previous file.

    `revision` must be higher than that of every backup, so that later backups are newer.
    """
    path, incarnation = database.sqlite_path(url), random_id(16)
    restored = Change(
        number=revision,
        at=now_ms,
        actor=actor,
        action=Action.RESTORE,
        kind="registry",
        record_id=incarnation,
    )
    if path is None:
        migrate(url)
        _write_contents(url, contents, restored)
        return None
    new_file = path.with_name(f".{path.name}.{os.getpid()}")
    for suffix in SQLITE_SUFFIXES:
        Path(f"{new_file}{suffix}").unlink(missing_ok=True)
    migrate(f"sqlite:///{new_file}")
    new_file.chmod(0o600)
    _write_contents(f"sqlite:///{new_file}", contents, restored)
    previous = move_aside(path, now_ms)
    new_file.replace(path)
    fsync(path.parent)
    return previous


def move_aside(path: Path, now_ms: int) -> Path | None:
    """Rename a database and its companion files, so that a new one does not use them."""
    aside = path.with_name(aside_name(path.name, now_ms))
    suffixes = [suffix for suffix in SQLITE_SUFFIXES if Path(f"{path}{suffix}").exists()]
    for suffix in suffixes:
        Path(f"{path}{suffix}").rename(f"{aside}{suffix}")
    return aside if suffixes else None


def aside_name(name: str, now_ms: int) -> str:
    """The name of what was moved aside at this time."""
    return f"{name}.{datetime.fromtimestamp(now_ms / 1000, UTC):%Y%m%dT%H%M%SZ}.aside"


def _write_contents(url: str, contents: Contents, restored: Change) -> None:
    """Replace all records in one transaction; the audit trail continues."""
    engine = database.create_engine(url)
    try:
        with engine.begin() as connection:
            _end_sessions(connection)
            connection.execute(sa.delete(database.ORGANIZATIONS))
            connection.execute(sa.delete(database.ACCOUNTS))
            connection.execute(sa.delete(database.DELETIONS))
            for kind, records in contents.by_kind():
                if records:
                    rows = [to_row(record) for record in records]
                    connection.execute(sa.insert(RECORD_TABLES[kind]), rows)
            reached = sa.select(database.REVISION.c.number)
            number = max(restored.number, connection.execute(reached).scalar_one() + 1)
            change = {**to_row(restored), "number": number}
            connection.execute(sa.insert(database.CHANGES).values(change))
            row = {"number": number, "incarnation": restored.record_id}
            if contents.receipt_secret:  # else the secret that was created with the tables stays
                row["receipt_secret"] = contents.receipt_secret
            connection.execute(sa.update(database.REVISION).values(row))
    finally:
        engine.dispose()


def _end_sessions(connection: sa.Connection) -> None:
    """End the sessions of people: with their accounts they are listed no more."""
    listed = sa.select(database.BROWSER_SESSIONS.c.id, database.BROWSER_SESSIONS.c.ends_at)
    rows = [dict(row) for row in connection.execute(listed).mappings()]
    if rows:
        known = sa.delete(database.ENDED_SIGN_INS).where(
            database.ENDED_SIGN_INS.c.id.in_([row["id"] for row in rows])
        )
        connection.execute(known)
        connection.execute(sa.insert(database.ENDED_SIGN_INS), rows)


def _file_fault(path: Path) -> str | None:
    watch = DatabaseFileWatch(path)
    try:
        watch.check()
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)) as connection:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except RegistryLost as error:
        return str(error)
    except sqlite3.OperationalError:
        return None  # locked, or no permission: opening it reports that
    except sqlite3.DatabaseError as error:
        return f"{path} is damaged: {error}"
    finally:
        watch.close()
    return None if result == "ok" else f"{path} is damaged: {result}"


def _display_url(url: str) -> str:
    return sa.make_url(url).render_as_string(hide_password=True)
