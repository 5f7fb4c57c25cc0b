"""Where a request goes: a retry meets its first copy, a visitor's requests meet each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.in_memory_collector import (
    NOW,
    InMemoryCollector,
    anonymous_ids,
    in_memory_collector,
)

FIREFOX = {"user-agent": "Firefox"}
ADDRESS = "203.0.113.0"
"""What the bench's clients have for an address, cut."""


@pytest.fixture
def desk(tmp_path: Path) -> InMemoryCollector:
    return in_memory_collector(tmp_path)


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def place(
    desk: InMemoryCollector,
    *items: object,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> int:
    """Where a request with these items goes."""
    path = "/track" if key else "/track?website_id=shop"
    assert desk.post(path, list(items), key=key, headers=headers).status == 200
    return desk.outbox.sent[-1].place


def test_a_browser_goes_where_its_visitor_is(desk: InMemoryCollector) -> None:
    ann, ben = (event("a", anonymousId=who, eventId="1") for who in ("ann", "ben"))

    places = [place(desk, *items) for items in ((ann,), (ann, ben), (ben,))]

    assert places[0] == places[1] != places[2]


def test_a_browser_without_a_visitor_goes_by_address_and_agent(desk: InMemoryCollector) -> None:
    firefox = place(desk, event("a"), headers=FIREFOX)

    assert place(desk, event("b"), headers=FIREFOX) == firefox
    assert place(desk, event("a"), headers={"user-agent": "Chrome"}) != firefox


def test_a_request_with_a_key_of_its_own_goes_by_what_a_retry_has_too(
    desk: InMemoryCollector,
) -> None:
    keyed = {"idempotency-key": "r1"}
    by_phone = place(desk, event("a"), headers={**keyed, **FIREFOX})

    assert place(desk, event("a"), headers={**keyed, "user-agent": "Chrome"}) == by_phone
    ann = event("a", anonymousId="ann")
    assert place(desk, ann, headers=keyed) == place(desk, ann) != by_phone


@pytest.mark.parametrize("key", ["acme-shop", "acme"])
def test_items_of_a_server_with_ids_meet_in_any_batch(desk: InMemoryCollector, key: str) -> None:
    ann, ben = (event("a", anonymousId=w, eventId=w, websiteId="shop") for w in ("ann", "ben"))

    assert place(desk, ann, ben, key=key) == place(desk, ben, key=key) == place(desk, ann, key=key)


def test_items_of_several_websites_with_ids_meet_in_any_batch(desk: InMemoryCollector) -> None:
    shop, blog = (event("a", eventId="1", websiteId=website) for website in ("shop", "blog"))

    assert place(desk, shop, blog, key="acme") == place(desk, blog, key="acme")


def test_items_of_a_server_without_ids_go_by_their_visitor(desk: InMemoryCollector) -> None:
    ann, ben = (event("a", anonymousId=who, websiteId="shop") for who in ("ann", "ben"))

    assert place(desk, ann, key="acme") != place(desk, ben, key="acme")
    assert place(desk, ann, key="acme") == place(desk, ann)


def named(desk: InMemoryCollector, *items: object, key: str | None = None) -> list[str]:
    """The visitors that the envelopes name."""
    place(desk, *items, key=key, headers=FIREFOX)
    return [envelope.visitor for envelope in desk.outbox.sent[-1].envelopes]


def test_who_names_nobody_is_named_for_a_day_and_website(
    desk: InMemoryCollector, tmp_path: Path
) -> None:
    known = anonymous_ids(tmp_path)

    today = known.for_website("shop", ADDRESS, "Firefox", NOW)

    assert named(desk, event("a", anonymousId="ann"), event("b")) == [today]
    assert len(today) == 32
    assert today not in {
        known.for_website("blog", ADDRESS, "Firefox", NOW),
        known.for_website("shop", "203.0.112.0", "Firefox", NOW),
        known.for_website("shop", ADDRESS, "Chrome", NOW),
        known.for_website("shop", ADDRESS, "Firefox", NOW + 86_400_000),
        known.for_links("acme", ADDRESS, "Firefox", NOW),
    }


def test_who_names_a_visitor_is_not_named(desk: InMemoryCollector) -> None:
    assert named(desk, event("a", anonymousId="ann")) == [""]


def test_a_server_is_not_its_visitor(desk: InMemoryCollector) -> None:
    assert named(desk, event("a", websiteId="shop"), key="acme") == [""]
