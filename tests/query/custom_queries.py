"""Custom queries and their rows."""

from typing import Any

from tests.query.query_service import InProcessService

COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


def rows(service: InProcessService, table: str, *selects: object, **query: Any) -> Any:
    reply = service.custom(table, selects or [COUNT], **query)
    assert reply.status == 200, reply.json
    return reply.json["data"]
