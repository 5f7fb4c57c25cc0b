"""A query service over a lake that the test fills."""

from pathlib import Path

from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)
