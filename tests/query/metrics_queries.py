"""Metrics queries and their rows, about traffic whose numbers are easy to work out."""

from collections.abc import Mapping
from typing import Any

from tests.http_client import Reply
from tests.query.lake import Stored, a_view, an_event
from tests.query.query_service import NOVEMBER, InProcessService
from tests.query.times import at

SEARCH: Mapping[str, Any] = {"channel": "Organic Search", "referrer_name": "Google"}
DIRECT: Mapping[str, Any] = {"channel": "Direct", "referrer_name": "Direct"}


def three_visits() -> list[Stored]:
    """u1 comes by search, sees two pages and buys; u2 and u3 come directly and see one page."""
    return [
        a_view("/", at=at("10:00:00"), visitor="u1", session="s1", **SEARCH),
        a_view("/pricing", at=at("10:01:00"), visitor="u1", session="s1", **DIRECT),
        an_event(
            "purchase",
            at=at("10:02:00"),
            visitor="u1",
            session="s1",
            path="/pricing",
            properties='{"total": 49.9, "plan": "pro"}',
            **DIRECT,
        ),
        a_view("/", at=at("11:00:00"), visitor="u2", session="s2", time_on_page=3.5, **DIRECT),
        a_view("/pricing", at=at("12:00:00"), visitor="u3", session="s3", **DIRECT),
    ]


def ask(service: InProcessService, *metrics: Any, website: str = "shop", **more: Any) -> Reply:
    """One metrics query about November 2026."""
    body = {"metrics": list(metrics), **NOVEMBER, **more}
    return service.ask("POST", "/v1/query/metrics", body, website_id=website)


def rows(service: InProcessService, *metrics: Any, **more: Any) -> Any:
    """The rows of one metrics query."""
    reply = ask(service, *metrics, **more)
    assert reply.status == 200, reply.json
    return reply.json["data"]


def error(service: InProcessService, *metrics: Any, **more: Any) -> str:
    """The error of a query that is rejected."""
    reply = ask(service, *metrics, **more)
    assert reply.status == 400, reply.json
    return str(reply.json["error"])


def save(service: InProcessService, kind: str, website: str = "shop", **body: Any) -> str:
    """The id of a new saved record."""
    reply = service.ask("POST", f"/v1/{kind}", body, key="acme-admin", website_id=website)
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def where(field: str, value: Any, operator: str = "eq") -> dict[str, Any]:
    """One filter."""
    return {"field": field, "operator": operator, "value": value}
