"""Brings the registry's tables to this version's form; `tidemark` does it, services do not."""

from pathlib import Path

from alembic import command
from alembic.config import Config

from schemas.registry.database import connect

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(url: str) -> None:
    """Make the tables, or change them to this form; harmless when nothing is to be done."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = connect(url, make=True)
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()
