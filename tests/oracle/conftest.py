"""Hypothesis profiles, registered before collection; closes the shared registry."""

from collections.abc import Iterator

import pytest

from tests.oracle import hypothesis_profile
from tests.oracle.service import registry

__all__ = ["hypothesis_profile"]


@pytest.fixture(scope="session", autouse=True)
def closed_registry() -> Iterator[None]:
    """The registry of all examples, closed after the last."""
    yield
    registry().close()
    registry.cache_clear()
