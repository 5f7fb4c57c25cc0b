"""Registries of other versions are migrated, or refused with what to do."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from schemas.registry import (
    Backups,
    Key,
    RegistryFollower,
    RegistryStore,
    Website,
    registry_unavailable,
)
from schemas.registry.database import create_engine
from schemas.registry.migrate import SchemaMismatch, migrate, newest_schema_revision
from tests.postgresql import PostgreSQL

BEFORE_RELEASE = Path(__file__).with_name("registry_before_release.sql")
"""Statements of the tables as the thirteen migrations before the first release made them."""


def test_a_registry_from_before_the_first_release_is_taken_over(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(BEFORE_RELEASE.read_text())
        for statement in ROWS_BEFORE_RELEASE:
            database.execute(statement)
    url = f"sqlite:///{path}"

    migrate(url)

    store = RegistryStore(url)
    store.require_current_schema()
    (website,) = store.list(Website)
    (key,) = store.list(Key)
    stamp = store.read_version()
    store.close()
    assert (website.id, website.domain, key.scopes) == ("w", "shop.example", ("read:data",))
    assert (stamp.revision, stamp.incarnation) == (7, "i")


def test_new_tables_are_those_from_before_the_first_release(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "before.db")) as database, database:
        database.executescript(BEFORE_RELEASE.read_text())
        database.execute("INSERT INTO alembic_version VALUES ('0013')")
        database.execute("INSERT INTO revision VALUES (1, 7, 'i', '')")

    migrate(f"sqlite:///{tmp_path / 'before.db'}")
    migrate(f"sqlite:///{path}")

    assert tables_of(f"sqlite:///{path}") == tables_of(f"sqlite:///{tmp_path / 'before.db'}")


def tables_of(url: str) -> dict[str, list[str]]:
    """Columns, keys and indexes by table, in an order of their own."""
    engine = create_engine(url)
    inspector = sa.inspect(engine)
    tables = {
        table: sorted(
            str(part)
            for parts in (
                inspector.get_columns(table),
                inspector.get_foreign_keys(table),
                inspector.get_unique_constraints(table),
                inspector.get_indexes(table),
                [inspector.get_pk_constraint(table)],
            )
            for part in parts
        )
        for table in inspector.get_table_names()
    }
    engine.dispose()
    return tables


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
            "has schema 0003, from before the first release: start a version that migrates it to "
            "0013 first",
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


@pytest.mark.parametrize("schema", ["9999", "0012"], ids=["newer", "before the first release"])
def test_tables_of_a_version_out_of_reach_are_not_migrated(each_url: str, schema: str) -> None:
    set_schema(each_url, f"UPDATE alembic_version SET version_num = '{schema}'")

    with pytest.raises(SchemaMismatch, match=schema):
        migrate(each_url)


def test_machines_that_migrate_at_once_wait_for_each_other(postgresql: PostgreSQL) -> None:
    url = postgresql.new_database()

    with ThreadPoolExecutor(4) as machines:
        list(machines.map(migrate, [url] * 4))

    store = RegistryStore(url)
    store.require_current_schema()
    assert store.read_version().revision == 0
    store.close()


ROWS_BEFORE_RELEASE = (
    "INSERT INTO alembic_version VALUES ('0013')",
    "INSERT INTO revision VALUES (1, 7, 'i', 's')",
    "INSERT INTO organizations VALUES ('o', 'Acme', 'pro', '{}', 1, 1)",
    "INSERT INTO websites VALUES ('w', 'o', 'shop.example', 'Shop', 'UTC', 1, 1, '[]')",
    "INSERT INTO keys VALUES"
    " ('k', 'o', 'w', 'Key', '[\"read:data\"]', 'h', NULL, NULL, 1, 1, NULL)",
)
