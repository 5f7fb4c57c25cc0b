"""Fixture: a new tenant for every test of this folder."""

import pytest

from tests.flow.tenant import Tenant
from tests.installation import Installation


@pytest.fixture
def tenant(stack: Installation) -> Tenant:
    """A new tenant without any events."""
    return Tenant.create(stack)
