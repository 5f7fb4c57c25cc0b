"""A registry in a file of its own, and the folder of its backups."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.registry import (
    Backups,
    RegistryStore,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "registry.db"


@pytest.fixture
def url(new_registry: Path, path: Path) -> str:
    shutil.copy(new_registry, path)
    return f"sqlite:///{path}"


@pytest.fixture
def store(url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(url)
    yield store
    store.close()


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path / "lake" / "_registry")
