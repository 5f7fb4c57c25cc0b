"""Partition keys and anonymous ids: a retry gets the key of the first attempt."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.in_memory_collector import (
    NOW,
    InMemoryCollector,
    anonymous_ids,
)

FIREFOX = {"user-agent": "Firefox"}
ADDRESS = "203.0.113.0"
"""The truncated address of the test client."""


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def partition_key_of(
    collector: InMemoryCollector,
    *items: object,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> int:
    """Where a request with these items goes."""
    path = "/track" if key else "/track?website_id=shop"
    assert collector.post(path, list(items), key=key, headers=headers).status == 200
    return collector.producer.sent[-1].partition_key


def test_browser_requests_are_keyed_by_visitor(collector: InMemoryCollector) -> None:
    ann, ben = (event("a", anonymousId=who, eventId="1") for who in ("ann", "ben"))

    keys = [partition_key_of(collector, *items) for items in ((ann,), (ann, ben), (ben,))]

    assert keys[0] == keys[1] != keys[2]


def test_browser_requests_without_a_visitor_are_keyed_by_address_and_user_agent(
    collector: InMemoryCollector,
) -> None:
    firefox = partition_key_of(collector, event("a"), headers=FIREFOX)

    assert partition_key_of(collector, event("b"), headers=FIREFOX) == firefox
    assert partition_key_of(collector, event("a"), headers={"user-agent": "Chrome"}) != firefox


def test_requests_with_an_idempotency_key_are_keyed_by_what_a_retry_shares(
    collector: InMemoryCollector,
) -> None:
    keyed = {"idempotency-key": "r1"}
    by_phone = partition_key_of(collector, event("a"), headers={**keyed, **FIREFOX})

    assert (
        partition_key_of(collector, event("a"), headers={**keyed, "user-agent": "Chrome"})
        == by_phone
    )
    ann = event("a", anonymousId="ann")
    assert (
        partition_key_of(collector, ann, headers=keyed)
        == partition_key_of(collector, ann)
        != by_phone
    )


@pytest.mark.parametrize("key", ["acme-shop", "acme"])
def test_server_items_with_ids_share_a_key_in_any_batch(
    collector: InMemoryCollector, key: str
) -> None:
    ann, ben = (event("a", anonymousId=w, eventId=w, websiteId="shop") for w in ("ann", "ben"))

    assert (
        partition_key_of(collector, ann, ben, key=key)
        == partition_key_of(collector, ben, key=key)
        == partition_key_of(collector, ann, key=key)
    )


def test_server_items_of_several_websites_with_ids_share_a_key_in_any_batch(
    collector: InMemoryCollector,
) -> None:
    shop, blog = (event("a", eventId="1", websiteId=website) for website in ("shop", "blog"))

    assert partition_key_of(collector, shop, blog, key="acme") == partition_key_of(
        collector, blog, key="acme"
    )


def test_server_items_without_ids_are_keyed_by_visitor(collector: InMemoryCollector) -> None:
    ann, ben = (event("a", anonymousId=who, websiteId="shop") for who in ("ann", "ben"))

    assert partition_key_of(collector, ann, key="acme") != partition_key_of(
        collector, ben, key="acme"
    )
    assert partition_key_of(collector, ann, key="acme") == partition_key_of(collector, ann)


def named(collector: InMemoryCollector, *items: object, key: str | None = None) -> list[str]:
    """The visitors that the envelopes name."""
    partition_key_of(collector, *items, key=key, headers=FIREFOX)
    return [envelope.anonymous_id for envelope in collector.producer.sent[-1].envelopes]


def test_items_without_a_visitor_get_an_id_for_the_day_and_website(
    collector: InMemoryCollector, tmp_path: Path
) -> None:
    known = anonymous_ids(tmp_path)

    today = known.for_website("shop", ADDRESS, "Firefox", NOW)

    assert named(collector, event("a", anonymousId="ann"), event("b")) == [today]
    assert len(today) == 32
    assert today not in {
        known.for_website("blog", ADDRESS, "Firefox", NOW),
        known.for_website("shop", "203.0.112.0", "Firefox", NOW),
        known.for_website("shop", ADDRESS, "Chrome", NOW),
        known.for_website("shop", ADDRESS, "Firefox", NOW + 86_400_000),
        known.for_links("acme", ADDRESS, "Firefox", NOW),
    }


def test_items_with_a_visitor_get_no_derived_id(collector: InMemoryCollector) -> None:
    assert named(collector, event("a", anonymousId="ann")) == [""]


def test_server_items_get_no_derived_id(collector: InMemoryCollector) -> None:
    assert named(collector, event("a", websiteId="shop"), key="acme") == [""]
