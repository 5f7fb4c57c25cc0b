"""Any value at any place of a message is stored, refused or ignored: never an error of ours."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.protocols import test_segment
from tests.ingest.protocols.test_posthog import event
from tests.ingest.protocols.test_umami import PAGE

HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 1e308, 2**70, "", "x" * 3000, "\x00\ud7ff\u202e", "1e999", "NaN"),
    *("http://[", [], {}, [[]], [None], {"a": {}}, {"": []}),
)
CONTEXT = {**test_segment.CONTEXT, "traits": {"a": 1}, "sessionId": "s"}
SEGMENT = {
    "writeKey": "key",
    "batch": [
        {"type": "track", "event": "a", "properties": {"url": "/"}, "context": CONTEXT},
        {"type": "page", "name": "a", "userId": "u", "anonymousId": "a", "messageId": "m"},
        {"type": "identify", "userId": "u", "traits": {"a": 1}, "timestamp": 1, "sentAt": 1},
        {"type": "alias", "userId": "u", "previousId": "a"},
    ],
}
THROWN = {"type": "E", "value": "x", "stacktrace": {"frames": [{"filename": "a", "lineno": 1}]}}
LEFT = {
    "$prev_pageview_duration": 1,
    "$prev_pageview_max_scroll_percentage": 1,
    "$prev_pageview_pathname": "/b",
}
POSTHOG = {
    "api_key": "key",
    "sent_at": 1,
    "batch": [
        event("$pageview", **LEFT, **{"$ip": "203.0.113.1", "$raw_user_agent": "x"}),
        {**event("$screen", **{"$screen_name": "a"}), "offset": 5, "uuid": "u", "timestamp": None},
        event("$pageleave", **LEFT),
        event("$identify", **{"$set": {"a": 1}, "$set_once": {"a": 1}, "$anon_distinct_id": "a"}),
        event("$create_alias", alias="a"),
        event("$exception", **{"$exception_list": [THROWN], "$exception_level": "error"}),
        event("$web_vitals", **{"$web_vitals_LCP_value": 1}),
    ],
}  # fmt: skip
PLAUSIBLE = {
    "d": "key", "n": "a", "u": "/", "r": "/", "p": {"a": 1}, "i": True,
    "$": {"amount": 1, "currency": "EUR"},
}  # fmt: skip
UMAMI = {**PAGE, "website": "key", "data": {"a": 1}, "id": "u", "timestamp": 1, "ip": "203.0.113.1"}
BODIES: dict[str, Any] = {
    "segment /v1/batch": SEGMENT,
    "posthog /batch/": POSTHOG,
    "posthog /i/v1/analytics/events": {"batch": [{**event("a"), "options": {}}]},
    "plausible /api/event": PLAUSIBLE,
    "plausible /plausible/api/event": {**PLAUSIBLE, "n": "engagement", "e": 1, "sd": 1},
    "umami /api/send": {"type": "event", "payload": UMAMI},
    "umami /umami/api/send": {"type": "identify", "payload": UMAMI},
    "umami /api/batch": [{"type": "performance", "payload": {**UMAMI, "lcp": 1, "cls": 1}}],
}


def with_hostile_values(value: Any) -> Iterator[Any]:
    """The value with something else in one place, for each place."""
    yield from HOSTILE
    for place in value if isinstance(value, dict) else range(len(value)):
        if isinstance(value[place], dict | list):
            changed = with_hostile_values(value[place])
        else:
            changed = iter(HOSTILE)
        for one in changed:
            copy = value.copy()
            copy[place] = one
            yield copy


@pytest.mark.parametrize("route", BODIES)
def test_a_value_of_another_type_is_no_error_of_ours(
    collector: InMemoryCollector, route: str
) -> None:
    product, path = route.split()
    collector.add_alias(product, "key")
    collector.set_limits("acme", collect=1_000_000)
    headers = {"authorization": "Bearer key"}
    assert collector.post(path, BODIES[route], headers=headers).status < 300

    wrong = []
    for number, body in enumerate(with_hostile_values(BODIES[route])):
        address = f"10.{number // 200}.{number % 200}.1"  # its network has a limit, too
        reply = collector.post(path, body, headers=headers, address=address)
        if reply.status not in (200, 202, 400, 401, 403, 413):
            wrong.append((reply.status, reply.body[:200], str(body)[:500]))

    assert wrong == []
