"""A query service over a lake that the test fills."""

from pathlib import Path

import pytest

from tests.query.query_service import InProcessService, start_service


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    """It runs in this process, with one lake and one registry of its own."""
    return start_service(tmp_path)
