"""How many events a filter keeps."""

from typing import Any

from tests.query.query_service import InProcessService


def kept(service: InProcessService, *filters: Any, **more: Any) -> int:
    """Events in November that the filters keep."""
    [row] = service.rows("summary", filters=list(filters), **more)
    count: int = row["total_events"]
    return count
