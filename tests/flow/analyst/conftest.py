"""Fixture: one shop for all questions of this folder, which change nothing in it."""

import pytest

from tests.flow.analyst.shop import Shop
from tests.installation import Installation


@pytest.fixture(scope="session")
def shop(stack: Installation) -> Shop:
    """A website with three months of traffic."""
    return Shop.open(stack)
