"""POST /import: which keys may import, which items are accepted, and how they are published."""

import asyncio
import json
from typing import Any

import pytest

from ingest.decoding.ndjson import INVALID_JSON_LINE
from ingest.endpoints.import_events import TIMESTAMP_OUT_OF_RANGE, TIMESTAMP_REQUIRED
from ingest.publishing.envelopes import WEBSITE_OUT_OF_REACH
from ingest.publishing.throttle import MAX_WAITING, CpuThrottle
from schemas.envelope import Envelope
from schemas.errors import Unavailable
from tests.ingest.in_memory_collector import NOW, InMemoryCollector

THEN = 1_551_441_600_000
"""2019-03-01 12:00:00 UTC."""


def an_item(**fields: Any) -> dict[str, Any]:
    return {"name": "pageview", "timestamp": THEN, **fields}


def lines(*items: Any) -> bytes:
    return b"\n".join(
        item if isinstance(item, bytes) else json.dumps(item).encode() for item in items
    )


def test_lines_are_published_in_one_envelope_to_the_backfill_topic(
    collector: InMemoryCollector,
) -> None:
    body = lines(an_item(line=1, country="AT"), an_item(line=2, user_agent="x")) + b"\n"

    reply = collector.post("/import?import_id=imp_1", body, key="acme")

    assert (reply.status, reply.json) == (200, {"status": "success", "type": "import", "count": 2})
    assert collector.producer.sent[0].topic == "backfill"
    assert collector.producer.sent[0].envelopes == [
        Envelope(
            subject_id="shop",
            organization_id="acme",
            received_ms=NOW,
            count=2,
            items=b"[" + body.strip().replace(b"\n", b",") + b"]",
            trusted=True,
            import_id="imp_1",
        )
    ]


def test_an_array_is_accepted_too(collector: InMemoryCollector) -> None:
    reply = collector.post("/import?import_id=imp_1", [an_item(), an_item()], key="acme-shop")

    assert (reply.status, reply.json["count"]) == (200, 2)


def test_each_invalid_line_is_listed(collector: InMemoryCollector) -> None:
    body = lines(
        an_item(),
        b'{"name": "broken"',
        an_item(timestamp=None),
        an_item(timestamp="1999-12-31T23:59:59Z"),
        an_item(timestamp=NOW + 600_000),
        an_item(websiteId="blog"),
        an_item(country="Austria"),
        an_item(timestamp="2019-03-01T12:00:00+01:00"),
        an_item(line=2**53),
    )

    reply = collector.post("/import?import_id=imp_1", body, key="acme")

    assert reply.json["count"] == 2
    assert [(reject["index"], reject["message"]) for reject in reply.json["rejected"]] == [
        (1, INVALID_JSON_LINE),
        (2, TIMESTAMP_REQUIRED),
        (3, TIMESTAMP_OUT_OF_RANGE),
        (4, TIMESTAMP_OUT_OF_RANGE),
        (5, WEBSITE_OUT_OF_REACH),
        (6, "'country' is not valid: expected `str` matching regex '^[A-Z]{2}$'"),
        (8, "'line' must be at most 9,007,199,254,740,991"),
    ]
    sent = json.loads(collector.producer.sent[0].envelopes[0].items)
    assert [item["timestamp"] for item in sent] == [THEN, "2019-03-01T12:00:00+01:00"]


def test_the_number_of_lines_is_limited_whatever_is_in_them(collector: InMemoryCollector) -> None:
    reply = collector.post("/import?import_id=imp_1", lines(an_item(), *[b"x"] * 500), key="acme")

    assert (reply.status, collector.producer.sent) == (400, [])
    assert reply.json["message"] == "A request may have 1 to 500 items; this one has 501"


def test_a_request_without_a_valid_line_is_refused(collector: InMemoryCollector) -> None:
    reply = collector.post(
        "/import?import_id=imp_1", lines(an_item(timestamp=None), b"{"), key="acme"
    )

    assert (reply.status, reply.json["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert [reject["index"] for reject in reply.json["rejected"]] == [0, 1]
    assert collector.producer.sent == []


@pytest.mark.parametrize(
    ("target", "key", "status"),
    [
        ("/import?import_id=imp_1&website_id=shop", None, 401),
        ("/import?import_id=imp_1", "reader", 403),
        ("/import?import_id=imp_1", "solo", 403),
        ("/import?import_id=imp_9", "acme", 403),
        ("/import", "acme", 400),
        ("/import?import_id=imp_2", "acme", 409),
    ],
)
def test_historical_events_need_a_key_and_an_open_import(
    collector: InMemoryCollector, target: str, key: str | None, status: int
) -> None:
    reply = collector.post(target, [an_item()], key=key)

    assert (reply.status, collector.producer.sent) == (status, [])


def test_imports_are_processed_one_at_a_time_and_few_may_wait() -> None:
    async def crowd() -> list[str]:
        turns, order = CpuThrottle("wait"), []

        async def one(name: str) -> None:
            try:
                async with turns.slot():
                    order.append(name)
                    await asyncio.sleep(0)
            except Unavailable:
                order.append(f"{name} refused")

        await asyncio.gather(*(one(str(number)) for number in range(MAX_WAITING + 2)))
        return order

    assert asyncio.run(crowd()) == ["0", "9 refused", *map(str, range(1, MAX_WAITING + 1))]
