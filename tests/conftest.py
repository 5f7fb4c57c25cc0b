"""What every test may ask for."""

import os
from pathlib import Path

import pytest

from schemas.registry.migrate import migrate

# Brokers live for seconds here: only the quick compiler of the JVM, half of the CPU of a start.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def new_registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry that was just made; to be copied."""
    path = tmp_path_factory.mktemp("made") / "registry.db"
    migrate(f"sqlite:///{path}")
    return path
