"""Registries of other versions are migrated, or refused with what to do."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from schemas.registry import (
    Backups,
    Key,
    RegistryFollower,
    RegistryStore,
    Website,
    registry_unavailable,
)
from schemas.registry.database import create_engine
from schemas.registry.migrate import MIGRATIONS, SchemaMismatch, migrate, newest_schema_revision
from tests.postgresql import PostgreSQL


def test_a_registry_of_the_first_schema_is_migrated(path: Path) -> None:
    url = f"sqlite:///{path}"
    engine = create_engine(url, create=True)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        for statement in OLD_ROWS:
            connection.execute(sa.text(statement))
    engine.dispose()

    migrate(url)

    store = RegistryStore(url)
    (website,) = store.list(Website)
    (key,) = store.list(Key)
    stamp = store.read_version()
    store.close()
    assert (website.id, website.domain, key.scopes) == ("w", "shop.example", ("read:data",))
    assert (stamp.revision, len(stamp.incarnation)) == (8, 16)


def set_schema(url: str, statement: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "UPDATE alembic_version SET version_num = '9999'",
            "has schema 9999, and this version of Tidemark knows up to "
            f"{newest_schema_revision()}: start the version that migrated it",
        ),
        (
            "UPDATE alembic_version SET version_num = '0003'",
            f"has schema 0003, and this version of Tidemark needs {newest_schema_revision()}: run "
            "`tidemark migrate`",
        ),
        ("DROP TABLE alembic_version", "has no tables yet: run `tidemark migrate`"),
    ],
    ids=["newer", "older", "none"],
)
def test_a_service_refuses_tables_of_another_version(
    each_url: str, backups: Backups, statement: str, reason: str
) -> None:
    set_schema(each_url, statement)
    store = RegistryStore(each_url)

    with pytest.raises(SchemaMismatch) as refused:
        RegistryFollower(store, backups)
    store.close()

    assert reason in str(refused.value)
    assert registry_unavailable(refused.value) == str(refused.value)


def test_tables_of_a_newer_version_are_not_migrated(each_url: str) -> None:
    set_schema(each_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(SchemaMismatch, match="9999"):
        migrate(each_url)


def test_machines_that_migrate_at_once_wait_for_each_other(postgresql: PostgreSQL) -> None:
    url = postgresql.new_database()

    with ThreadPoolExecutor(4) as machines:
        list(machines.map(migrate, [url] * 4))

    store = RegistryStore(url)
    store.require_current_schema()
    assert store.read_version().revision == 0
    store.close()


OLD_ROWS = (
    "INSERT INTO organizations VALUES ('o', 'Acme', 'pro', '{}', 1, 1)",
    "INSERT INTO websites VALUES ('w', 'o', 'shop.example', 'Shop', 'UTC', 1, 1)",
    "INSERT INTO keys VALUES ('k', 'o', 'w', 'Key', '[\"read:data\"]', 'h', NULL, NULL, 1, 1)",
    "UPDATE revision SET number = 7",
)
