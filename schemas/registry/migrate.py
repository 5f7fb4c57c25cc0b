"""Brings the registry's tables to this version's form; `tidemark` does it, services do not."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from schemas.registry.database import connect

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(url: str) -> None:
    """Make the tables, or change them to this form; harmless when nothing is to be done."""
    config, engine = _config(), connect(url, make=True)
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def level_of(url: str) -> str | None:
    """The form that the tables are in: the number of their last migration."""
    engine = connect(url)
    try:
        with engine.connect() as connection:
            return MigrationContext.configure(connection).get_current_revision()
    finally:
        engine.dispose()


def newest_level() -> str:
    """The form that this version needs."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
