"""Closes the registry that all examples share."""

from collections.abc import Iterator

import pytest

from tests.oracle.service import registry


@pytest.fixture(scope="session", autouse=True)
def closed_registry() -> Iterator[None]:
    """The registry of all examples, closed after the last."""
    yield
    registry().close()
    registry.cache_clear()
