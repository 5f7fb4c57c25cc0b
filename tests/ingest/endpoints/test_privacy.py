"""The privacy of a website: what never reaches Kafka."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy.cli.debug import format_line
from schemas.receipts import unverified
from schemas.registry.privacy import Privacy
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import NOW, InMemoryCollector, anonymous_ids

DNT, GPC = {"dnt": "1"}, {"sec-gpc": "1"}
VIEW = {"name": "view", "anonymousId": "ann", "sessionId": "s1", "profileId": "p1"}


def set_privacy(collector: InMemoryCollector, **members: Any) -> None:
    collector.set_privacy("shop", Privacy(**members))


def sent(collector: InMemoryCollector, *items: Any, **request: Any) -> list[Any]:
    """What is in Kafka of a request to shop; each envelope as its items, or its drop reason."""
    reply = collector.post("/track?website_id=shop", list(items), **request)
    assert (reply.status, reply.json["count"]) == (200, len(items))
    return [
        each.drop_reason or json.loads(each.items) for each in collector.producer.sent[-1].envelopes
    ]


@pytest.mark.parametrize(
    ("member", "headers", "reason"),
    [
        ("do_not_track", DNT, "do_not_track"),
        ("do_not_track", {"dnt": "1 "}, "do_not_track"),  # as the parser of headers leaves it
        ("global_privacy_control", GPC, "global_privacy_control"),
    ],
)
def test_a_signal_is_ignored_counted_without_ids_or_dropped(
    collector: InMemoryCollector,
    member: str,
    headers: dict[str, str],
    reason: str,
    tmp_path: Path,
) -> None:
    assert sent(collector, VIEW, headers=headers) == [[VIEW]]

    set_privacy(collector, **{member: "anonymous"})
    assert sent(collector, VIEW, headers={**headers, "user-agent": "x"}) == [[{"name": "view"}]]
    [envelope] = collector.producer.sent[-1].envelopes
    of_day = anonymous_ids(tmp_path).for_website("shop", "203.0.113.0", "x", NOW)
    assert envelope.anonymous_id == of_day
    assert sent(collector, VIEW) == [[VIEW]]

    set_privacy(collector, **{member: "drop"})
    assert sent(collector, VIEW, VIEW, headers=headers) == [reason]
    [envelope] = collector.producer.sent[-1].envelopes
    assert (envelope.count, envelope.items) == (2, b"[]")
    assert sent(collector, VIEW) == [[VIEW]]


def test_items_have_ids_only_with_consent_where_it_is_required(
    collector: InMemoryCollector,
) -> None:
    set_privacy(collector, consent="required")
    agreed, refused = {**VIEW, "consent": True}, {**VIEW, "consent": False}

    assert sent(collector, agreed, refused, VIEW) == [
        [agreed, {"name": "view", "consent": False}, {"name": "view"}]
    ]
    assert sent(collector, VIEW, key="acme-shop") == [[{"name": "view"}]]


def test_an_identity_without_consent_is_only_counted(collector: InMemoryCollector) -> None:
    set_privacy(collector, consent="required")
    body = [{"profileId": "p1"}, {"profileId": "p2", "consent": True}]

    reply = collector.post("/identify?website_id=shop", body)

    assert reply.json["count"] == 2
    kept, dropped = collector.producer.sent[-1].envelopes
    assert json.loads(kept.items) == [body[1]]
    assert (dropped.drop_reason, dropped.count) == ("no_consent", 1)
    receipt = unverified(reply.json["receipt"])
    assert (receipt.indexes, receipt.dropped) == ([1, 0], 1)


def test_named_properties_are_never_stored_at_any_depth(collector: InMemoryCollector) -> None:
    set_privacy(collector, never_store_properties=("email", "card_*"))
    properties = {"Email": "a@b.example", "plan": {"card_no": 1, "price": 1.50}, "cardboard": [1]}

    assert sent(collector, {"name": "buy", "properties": properties}) == [
        [{"name": "buy", "properties": {"plan": {"price": 1.5}, "cardboard": [1]}}]
    ]


def test_errors_have_no_named_properties(collector: InMemoryCollector) -> None:
    set_privacy(collector, never_store_properties=("email",))
    report = {"message": "boom", "release": "2.4.1"}
    properties = {"email": "a@b.example", "cart": "full"}

    reply = collector.post("/errors?client_id=shop", [{**report, "properties": properties}])

    assert reply.status == 200
    assert collector.producer.sent[-1].items == [{**report, "properties": {"cart": "full"}}]


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/?token=a%26x9%23x9&b=1", "/?token=&b=1"),
        (
            "/?to=https%253A%252F%252Fy%253Ftoken%253Dx%252526x9%2526b%253D1",
            "/?to=https%253A%252F%252Fy%253Ftoken%253D%2526b%253D1",
        ),
        ("/?%74oken=x9&b=1", "/?%74oken=&b=1"),
        ("/?token[]=x9&token%5B0%5D=x9", "/?token[]=&token%5B0%5D="),
        ("token=x9&b=1", "token=&b=1"),
        (
            "/?größe=x9&GR%C3%96%C3%9FE=x9&gr%C3%B6%C3%9Fe=x9",
            "/?größe=&GR%C3%96%C3%9FE=&gr%C3%B6%C3%9Fe=",
        ),
        ("/?tokens=1&a=token%3D2", "/?tokens=1&a=token%3D2"),
    ],
)
def test_a_named_parameter_is_found_however_it_is_written(
    collector: InMemoryCollector, path: str, kept: str
) -> None:
    set_privacy(collector, never_store_query=("token", "größe"))

    # The JSON of requests here escapes all but ASCII, as many senders do.
    assert sent(collector, {"name": "view", "path": path}) == [[{"name": "view", "path": kept}]]


def test_values_of_named_query_parameters_are_never_stored(collector: InMemoryCollector) -> None:
    set_privacy(collector, never_store_query=("token", "sess*", "utm_term"))
    view = {
        "name": "screen_view",
        "path": "https://shop.example/?a=1&token=x9&SessionId=s&tokens=2#token=x",
        "referrer": "https://shop.example/login?to=https%3A%2F%2Fy.example%2F%3Ftoken%3Dx9%26b%3D1",
        "properties": {"url": 'a "https://y.example?token=x9" b', "back\\": "?token=x\\"},
        "utm_term": "anna",
    }

    assert sent(collector, view, headers={"referer": "https://shop.example/?token=x9"}) == [
        [
            {
                "name": "screen_view",
                "path": "https://shop.example/?a=1&token=&SessionId=&tokens=2#token=",
                "referrer": "https://shop.example/login?to=https%3A%2F%2Fy.example%2F%3Ftoken%3D"
                "%26b%3D1",
                "properties": {"url": 'a "https://y.example?token=" b', "back\\": "?token="},
            }
        ]
    ]
    [envelope] = collector.producer.sent[-1].envelopes
    assert envelope.headers["referer"] == "https://shop.example/?token="


def test_without_locations_no_address_is_published(collector: InMemoryCollector) -> None:
    set_privacy(collector, location="none", mask_texts=False)

    sent(collector, VIEW)

    [envelope] = collector.producer.sent[-1].envelopes
    assert (envelope.client_network, envelope.locate, envelope.mask_texts) == ("", False, False)


def test_a_batch_and_the_pixel_are_filtered_like_every_request(
    collector: InMemoryCollector,
) -> None:
    set_privacy(collector, consent="required", never_store_properties=("email",))

    batch = [{"type": "track", "payload": {"name": "a", "profileId": "p", "properties": {}}}]
    assert collector.post("/batch?client_id=shop", batch).status == 200
    collector.get("/px.jpg?client_id=shop&type=track&name=a&anonymousId=ann&properties[email]=b")

    first, second = (request.items for request in collector.producer.sent)
    assert "profileId" not in first[0]
    assert second == [{"name": "a", "properties": {}}]


def test_imported_events_have_no_named_properties(collector: InMemoryCollector) -> None:
    set_privacy(collector, consent="required", never_store_properties=("email",))
    event = {**VIEW, "timestamp": NOW - 9, "properties": {"email": "x", "plan": "pro"}}

    reply = collector.post("/import?import_id=imp_1", [event], key="acme-shop")

    assert reply.status == 200
    assert collector.producer.sent[-1].items == [{**event, "properties": {"plan": "pro"}}]


def test_dropped_items_are_told_in_debug(collector: InMemoryCollector) -> None:
    set_privacy(collector, do_not_track="drop")
    sent(collector, VIEW, headers=DNT)

    reader = {"authorization": f"Bearer {collector.keys['reader']}"}
    reply = request_once(collector.app, "GET", "/debug?website_id=shop", headers=reader)

    [line] = reply.json["items"]
    assert (line["count"], line["dropped"], "item" in line) == (1, "do_not_track", False)
    assert format_line(line).endswith(
        "custom_event: 1 items, dropped by the privacy of the website: do_not_track"
    )


def test_wait_says_that_dropped_items_are_not_stored(
    collector: InMemoryCollector, tmp_path: Path
) -> None:
    (tmp_path / "lake" / "events" / "_delta_log").mkdir(parents=True)
    set_privacy(collector, do_not_track="drop")

    reply = collector.post("/track?website_id=shop&wait=stored", [VIEW, VIEW], headers=DNT)

    assert (reply.status, reply.headers["tidemark-stored"]) == (200, "false")
    assert (reply.json["count"], reply.json["stored"], reply.json["dropped"]) == (2, False, 2)


def test_names_with_many_asterisks_take_no_time(collector: InMemoryCollector) -> None:
    # Each asterisk that is tried at each place would take years.
    name = "*a" * 60 + "*b"
    set_privacy(collector, never_store_query=(name,), never_store_properties=(name,))
    item = {"name": "view", "path": "/?" + "a" * 500 + "=1", "properties": {"a" * 120: 1}}

    assert sent(collector, item) == [[item]]
    assert sent(collector, {"name": "v", "properties": {"a" * 120 + "b": 1}}) == [
        [{"name": "v", "properties": {}}]
    ]
