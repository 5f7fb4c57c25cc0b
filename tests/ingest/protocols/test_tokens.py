"""Which website messages belong to: that of their own token, which no alias of another can be."""

import json
from typing import Any

import msgspec
import pytest

from tests.ingest.in_memory_collector import InMemoryCollector

TP2 = "/com.snowplowanalytics.snowplow/tp2"
BATCH = {"content-type": "application/cloudevents-batch+json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def mixpanel(token: str) -> dict[str, Any]:
    return {"event": "a", "properties": {"token": token, "distinct_id": "u"}}


def profile(token: str) -> dict[str, Any]:
    return {"$token": token, "$distinct_id": "u", "$set": {"plan": "pro"}}


def posthog(token: str) -> dict[str, Any]:
    return {"event": "a", "distinct_id": "u", "properties": {"token": token}}


def snowplow(token: str) -> dict[str, Any]:
    return {"e": "pv", "aid": token, "duid": "d"}


def cloudevent(token: str) -> dict[str, Any]:
    return {"specversion": "1.0", "id": "1", "source": token, "type": "a"}


def otlp(token: str) -> dict[str, Any]:
    name = {"key": "service.name", "value": {"stringValue": token}}
    records = [{"logRecords": [{"eventName": "a"}]}]
    return {"resource": {"attributes": [name]}, "scopeLogs": records}


ROUTES: dict[str, Any] = {
    "mixpanel /mixpanel/track": lambda *of: list(map(mixpanel, of)),
    "mixpanel /engage": lambda *of: list(map(profile, of)),
    "posthog /e/": lambda *of: list(map(posthog, of)),
    "posthog /batch/": lambda *of: {"batch": list(map(posthog, of))},
    f"snowplow {TP2}": lambda *of: {"data": list(map(snowplow, of))},
    "cloudevents /cloudevents": lambda *of: list(map(cloudevent, of)),
    "otlp /v1/logs": lambda *of: {"resourceLogs": list(map(otlp, of))},
    "umami /api/batch": lambda *of: [
        {"type": "event", "payload": {"website": one, "name": "a"}} for one in of
    ],
    "matomo /matomo.php": lambda *of: {"requests": [f"?idsite={one}&rec=1" for one in of]},
    "ga4 /g/collect": lambda *of: "\n".join(f"tid={one}&en=a&cid=1.2" for one in of).encode(),
}
CASES = pytest.mark.parametrize("route", ROUTES)


def websites(collector: InMemoryCollector) -> list[str]:
    return [one.subject_id for request in collector.producer.sent for one in request.envelopes]


def headers_of(product: str) -> dict[str, str]:
    return BATCH if product == "cloudevents" else {}


@CASES
def test_each_message_is_of_the_website_of_its_own_token(
    collector: InMemoryCollector, route: str
) -> None:
    product, path = route.split()
    collector.add_alias(product, "a", "shop")
    collector.add_alias(product, "b", "solo")

    reply = collector.post(path, ROUTES[route]("a", "b"), headers=headers_of(product))

    assert reply.status < 300
    assert websites(collector) == ["shop", "solo"]


@CASES
def test_a_request_with_a_token_that_is_unknown_stores_nothing(
    collector: InMemoryCollector, route: str
) -> None:
    product, path = route.split()
    collector.add_alias(product, "a", "shop")

    reply = collector.post(path, ROUTES[route]("a", "c"), headers=headers_of(product))

    assert reply.status == {"posthog": 401, "snowplow": 400, "ga4": 204}.get(product, 403)
    assert websites(collector) == []


@CASES
def test_a_key_sends_to_no_website_of_another_organization(
    collector: InMemoryCollector, route: str
) -> None:
    product, path = route.split()
    collector.add_alias(product, "a", "shop")
    collector.add_alias(product, "b", "solo")

    body = ROUTES[route]("a", "b")
    reply = collector.post(path, body, key="acme", headers=headers_of(product))

    assert reply.status == {"posthog": 401, "snowplow": 400, "ga4": 204}.get(product, 403)
    assert websites(collector) == []


@CASES
def test_origins_of_each_website_are_checked(collector: InMemoryCollector, route: str) -> None:
    product, path = route.split()
    collector.add_alias(product, "a", "shop")
    collector.add_alias(product, "b", "solo")
    snapshot = collector.registry.snapshot
    solo = msgspec.structs.replace(snapshot.websites["solo"], allowed_origins=("solo.example",))
    all_websites = type(snapshot.websites)({**snapshot.websites, "solo": solo})
    collector.registry.snapshot = msgspec.structs.replace(snapshot, websites=all_websites)

    headers = {**headers_of(product), "origin": "https://evil.example"}
    reply = collector.post(path, ROUTES[route]("a", "b"), headers=headers)

    assert reply.status == {"posthog": 401, "snowplow": 400, "ga4": 204}.get(product, 403)
    assert websites(collector) == []


def test_history_of_two_tokens_is_refused(collector: InMemoryCollector) -> None:
    collector.add_alias("mixpanel", "a", "shop")
    collector.add_alias("mixpanel", "b", "blog")
    body = [mixpanel("a"), mixpanel("b")]

    reply = collector.post("/mixpanel/import", body, key="acme")

    assert (reply.status, json.loads(reply.body)["error"]) == (
        400,
        "History in one request must be of one website",
    )


@pytest.mark.parametrize("name", ["shop", "solo"])
def test_a_website_id_wins_over_an_alias_of_that_name(
    collector: InMemoryCollector, name: str
) -> None:
    collector.add_alias("segment", name, "blog", tee_url="http://thief.example")
    body = {"writeKey": name, "batch": [{"type": "track", "event": "a", "anonymousId": "u"}]}

    assert collector.post("/v1/batch", body).status == 200
    assert websites(collector) == [name]
    assert collector.registry.snapshot.registered_alias("segment", name) is None


@pytest.mark.parametrize("domain", ["shop.example", "Shop.Example", "SHOP.example."])
def test_a_domain_of_plausible_is_found_in_any_case(
    collector: InMemoryCollector, domain: str
) -> None:
    collector.add_alias("plausible", "shop.example")
    body = {"n": "a", "u": "https://shop.example/", "d": f"{domain},{domain}"}

    assert collector.post("/api/event", body).status == 202
    assert websites(collector) == ["shop"]
