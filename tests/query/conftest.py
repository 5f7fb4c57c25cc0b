"""A query service over a lake that the test fills."""

from pathlib import Path

import pytest

from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    """It runs in this process, with one lake and one registry of its own."""
    return start_service(tmp_path)


@pytest.fixture
def unused_service(tmp_path: Path) -> InProcessService:
    """A service that has counted no request in any limit."""
    return start_service(tmp_path)
