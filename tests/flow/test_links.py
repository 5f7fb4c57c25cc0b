"""Clicks on short links: enriched, with bots flagged and not counted."""

from datetime import UTC, datetime
from typing import Any

from tests.flow.tenant import CHROME_USER_AGENT, DAY, IPHONE_USER_AGENT, Tenant
from tests.http_client import call
from tests.installation import eventually

PREVIEW = "Twitterbot/1.0"


def to_today() -> dict[str, str]:
    """The dates of DAY to today."""
    return {"startDate": str(DAY), "endDate": str(datetime.now(UTC).date())}


def follow(tenant: Tenant, agent: str, **headers: str) -> int:
    url = f"{tenant.stack.collect_url}/l/{tenant.link.slug}?utm_source=x"
    reply = call("GET", url, headers={"user-agent": agent, **headers})
    assert reply.headers["location"] == "https://t.example/?utm_source=x"
    return reply.status


def link_rows(tenant: Tenant, parameter: str, **more: Any) -> list[dict[str, Any]]:
    return tenant.rows(parameter, link=True, **to_today(), **more)


def clicks(tenant: Tenant) -> set[tuple[Any, ...]]:
    """Each click as custom queries see it, programs too."""
    names = ("browser_name", "device_type", "referrer_name", "bot_reason")
    query = {
        "table": "clicks",
        "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
        "groupBy": names,
    }
    url = f"{tenant.stack.query_url}/v1/query/custom?link_id={tenant.link.id}"
    body = {"query": query, "include_bots": True, **to_today()}
    reply = call("POST", url, body, {"x-api-key": tenant.key})
    assert reply.status == 200, reply.body
    return {tuple(row[name] for name in (*names, "n")) for row in reply.json["data"]}


def test_programs_that_preview_or_prefetch_are_not_counted(tenant: Tenant) -> None:
    sent = [
        follow(tenant, IPHONE_USER_AGENT, referer="https://www.google.com/"),
        follow(tenant, CHROME_USER_AGENT),
        follow(tenant, CHROME_USER_AGENT, **{"sec-purpose": "prefetch"}),
        follow(tenant, PREVIEW),
    ]

    assert sent == [302, 302, 302, 302]
    every = {"include_bots": True}
    eventually(lambda: link_rows(tenant, "link_total_clicks", **every) == [{"total": 4}])
    assert link_rows(tenant, "link_total_clicks") == [{"total": 2}]
    assert clicks(tenant) == {
        ("Chrome", "desktop", "Direct", "prefetch", 1),
        ("Chrome", "desktop", "Direct", None, 1),
        ("Twitterbot", None, "Direct", "preview: Twitterbot", 1),
        ("Safari", "mobile", "Google", None, 1),
    }
    assert link_rows(tenant, "link_top_devices") == [
        {"name": "desktop", "clicks": 1},
        {"name": "mobile", "clicks": 1},
    ]
    assert {row["name"]: row["clicks"] for row in link_rows(tenant, "link_top_browsers")} == {
        "Chrome": 1,
        "Safari": 1,
    }
    assert {row["name"]: row["clicks"] for row in link_rows(tenant, "link_top_referrers")} == {
        "Direct": 1,
        "Google": 1,
    }
