"""A registry in a file of its own or on a real PostgreSQL, and the folder of its backups."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.registry import (
    Backups,
    RegistryStore,
)
from tests.postgresql import MIGRATED, PostgreSQL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "registry.db"


@pytest.fixture
def sqlite_url(new_registry: Path, path: Path) -> str:
    shutil.copy(new_registry, path)
    return f"sqlite:///{path}"


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


@pytest.fixture(params=("sqlite", "postgresql"))
def each_url(request: pytest.FixtureRequest) -> str:
    """A registry of each kind of database, with its tables; files use it as their `url`."""
    if request.param == "sqlite":
        file: str = request.getfixturevalue("sqlite_url")
        return file
    server: PostgreSQL = request.getfixturevalue("postgresql")
    return server.new_database(MIGRATED)


@pytest.fixture
def store(url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(url)
    yield store
    store.close()


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path / "lake" / "_registry")
