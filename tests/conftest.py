"""What every test may ask for."""

from pathlib import Path

import pytest

from schemas.registry.migrate import migrate


@pytest.fixture(scope="session")
def new_registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry that was just made; to be copied."""
    path = tmp_path_factory.mktemp("made") / "registry.db"
    migrate(f"sqlite:///{path}")
    return path
