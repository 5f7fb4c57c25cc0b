"""Requests of custom queries that tests share."""

from typing import Any

from tests.query.query_service import NOVEMBER, InProcessService

COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


def rows(service: InProcessService, *selects: Any, table: str = "events", **query: Any) -> Any:
    reply = service.custom(table, list(selects) or [COUNT], **query)
    assert reply.status == 200, reply.json
    return reply.json["data"]


def ask(service: InProcessService, query: Any, path: str = "/v1/query/custom", **more: Any) -> Any:
    body = {"query": {"table": "events", "selects": [COUNT], **query}, **NOVEMBER, **more}
    return service.ask("POST", path, body, website_id="shop")
