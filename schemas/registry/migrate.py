"""Runs the Alembic migrations, and compares the tables with those that this version needs.

Alembic is imported only when a migration is needed, because its import is slow.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from schemas.registry.database import create_engine

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"

FIRST_REVISION = "0013"
"""Of the first release: what migrations before it made is not migrated."""

_LEVEL = sa.table("alembic_version", sa.column("version_num", sa.String))


MIGRATION_LOCK = 4_201_952_203
"""Number of the PostgreSQL advisory lock; machines that start at once migrate one after another."""


class SchemaMismatch(sa.exc.SQLAlchemyError):
    """The tables of the registry are those of an older or newer version of Tidemark."""


def migrate(url: str) -> None:
    """Create or migrate the tables; does nothing when they are current.

    SchemaMismatch when a newer version has migrated them, or none since the first release.
    """
    engine = create_engine(url, create=True)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            level = _level(connection)
            _refuse_out_of_reach(level)
            if level != newest_schema_revision():
                _upgrade(connection)
    finally:
        engine.dispose()


def require_current_schema(connection: sa.Connection) -> None:
    """SchemaMismatch, with what to do, unless the tables are those that this version needs."""
    level, needed = _level(connection), newest_schema_revision()
    _refuse_out_of_reach(level)
    if level is None:
        raise SchemaMismatch("the registry has no tables yet: run `tidemark migrate`")
    if level != needed:
        raise SchemaMismatch(
            f"the registry has schema {level}, and this version of Tidemark needs {needed}: run "
            "`tidemark migrate`"
        )


def _refuse_out_of_reach(level: str | None) -> None:
    if level is not None and level < FIRST_REVISION:
        raise SchemaMismatch(
            f"the registry has schema {level}, from before the first release: start a version that "
            f"migrates it to {FIRST_REVISION} first"
        )
    newest = newest_schema_revision()
    if level is not None and level > newest:
        raise SchemaMismatch(
            f"the registry has schema {level}, and this version of Tidemark knows up to {newest}: "
            "start the version that migrated it, or restore a backup of before"
        )


def schema_revision(url: str) -> str | None:
    """Number of the last migration of the tables."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return _level(connection)
    finally:
        engine.dispose()


def newest_schema_revision() -> str:
    """Number of the newest migration file (mNUMBER_NAME.py)."""
    return max(file.stem[1:5] for file in (MIGRATIONS / "versions").glob("m????_*.py"))


def configuration() -> "Config":
    """Configuration of Alembic."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command

    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _level(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(_LEVEL.name):
        return None
    return connection.execute(sa.select(_LEVEL.c.version_num)).scalar()
