"""Rate limits over HTTP: what both services counted for a tenant in the last minute."""

import asyncio
from typing import Any

from schemas.http.limit_counts import (
    COLLECTOR,
    QUERY,
    Counted,
    MachineCounts,
    bucket_name,
    counts_path,
)
from schemas.plans import PLANS, Group
from schemas.registry import KeyScope, Organization
from schemas.registry.validation import new_key
from schemas.runtime.settings import Settings
from tests.query.query_service import NOW, InProcessService

COLLECT = PLANS["enterprise"][Group.COLLECT]


def counted(service: InProcessService, name: str, group: Group, subject: str, *counts: int) -> None:
    """Requests, bytes and items that a process of a service counted."""

    async def add() -> None:
        shared = MachineCounts(counts_path(Settings(data_dir=str(service.data)), name))
        await shared.add([Counted(bucket_name(name, (group, subject)), *counts)])
        await shared.close()

    asyncio.run(add())


def limits(service: InProcessService, key: str = "acme-admin", **query: str) -> Any:
    reply = service.ask("GET", "/v1/limits", key=key, **query)
    assert reply.status == 200, reply.json
    return reply.json


def test_what_the_last_minute_used_is_shown_beside_the_limit(service: InProcessService) -> None:
    counted(service, COLLECTOR, Group.COLLECT, "acme", 3, 4_000, 250)
    counted(service, COLLECTOR, Group.COLLECT, "acme", 1, 100, 5)
    counted(service, COLLECTOR, Group.COLLECT, "globex", 9, 9, 9)
    counted(service, QUERY, Group.CUSTOM, "acme", 7)

    found = limits(service)
    by_group = {entry["group"]: entry for entry in found["data"]}

    assert found["meta"] == {"plan": "enterprise", "windowSeconds": 60, "allMachines": False}
    assert list(by_group) == ["collect", "redirects", "query", "custom", "links", "records"]
    collect = by_group["collect"]
    assert 55 < collect.pop("resetsIn") <= 65
    assert collect == {
        "group": "collect",
        "websiteId": None,
        "requests": {"limit": COLLECT.requests, "used": 4},
        "items": {"limit": COLLECT.items, "used": 255},
        "bytes": {"limit": COLLECT.bytes, "used": 4_100},
    }
    custom = PLANS["enterprise"][Group.CUSTOM].requests
    assert by_group["custom"]["requests"] == {"limit": custom, "used": 7}
    assert by_group["query"] == {
        "group": "query",
        "websiteId": None,
        "requests": {"limit": PLANS["enterprise"][Group.QUERY].requests, "used": 0},
        "resetsIn": 0.0,
    }


def test_limits_of_its_own_replace_those_of_the_plan(service: InProcessService) -> None:
    service.store.update(Organization, "acme", NOW, limits={"query": 11})
    service.follower.refresh()

    query = next(entry for entry in limits(service)["data"] if entry["group"] == "query")

    assert query["requests"]["limit"] == 11


def test_a_website_has_a_limit_of_requests_without_a_key(service: InProcessService) -> None:
    counted(service, COLLECTOR, Group.COLLECT, "shop", 2, 200, 20)
    key, text = new_key("acme", (KeyScope.MANAGE_WEBSITES,), NOW, "shop")
    service.store.create(key)
    service.follower.refresh()
    service.keys = {**service.keys, "manager": text}

    own = limits(service, "manager")["data"]
    named = limits(service, website_id="shop")["data"]

    assert [(one["group"], one["websiteId"], one["requests"]["used"]) for one in own] == [
        ("collect", "shop", 2)
    ]
    assert own[0] in [one | {"resetsIn": own[0]["resetsIn"]} for one in named]
    assert len(named) == 7
    for website in ("blog", "rival", "nowhere"):
        assert service.ask("GET", "/v1/limits", key="manager", website_id=website).status == 403
    for website in ("rival", "nowhere"):
        reply = service.ask("GET", "/v1/limits", key="acme-admin", website_id=website)
        assert reply.status == 403


def test_counts_that_cannot_be_read_are_unavailable(service: InProcessService) -> None:
    counts_path(Settings(data_dir=str(service.data)), QUERY).mkdir(parents=True)

    reply = service.ask("GET", "/v1/limits", key="acme-admin")

    assert (reply.status, "cannot be read right now" in reply.json["error"]) == (503, True)
