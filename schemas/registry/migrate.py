"""Runs the Alembic migrations.

Alembic is imported only when a migration is needed, because its import is slow.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from schemas.registry.database import create_engine

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"

_LEVEL = sa.table("alembic_version", sa.column("version_num", sa.String))


def migrate(url: str) -> None:
    """Create or migrate the tables; does nothing when they are current."""
    engine = create_engine(url, create=True)
    try:
        with engine.begin() as connection:
            if _level(connection) != newest_schema_revision():
                _upgrade(connection)
    finally:
        engine.dispose()


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
