"""Requests of browser trackers work unchanged: whole responses and whole rows."""

import json
import tomllib
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import KINDS, Kind
from schemas.tables.column import BOT_COLUMNS, LOCATION_COLUMNS, OFFSET_COLUMNS, USER_AGENT_COLUMNS
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.ingest.in_memory_collector import (
    InMemoryCollector,
    PublishedRequest,
    in_memory_collector,
)
from tests.stream.enrich.enriched_rows import row

CASES = tomllib.loads((Path(__file__).parent / "trackers.toml").read_text())["case"]
BY_TOPIC = {kind.topic: kind for kind in KINDS}

FOUND = {
    *(
        column.name
        for column in (*USER_AGENT_COLUMNS, *BOT_COLUMNS, *OFFSET_COLUMNS, *LOCATION_COLUMNS)
    ),
    *("received_at", "visitor_hash", "session_hash", "event_hash", "visitor_made", "session_made"),
    *("referrer_name", "referrer_type", "channel", "sender", "trusted"),
}
"""Columns that a request does not decide; the tests of the stream's steps are about them."""


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    return in_memory_collector(tmp_path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["it"])
def test_what_a_tracker_sends_is_answered_and_stored(
    collector: InMemoryCollector, case: dict[str, Any]
) -> None:
    body = case["body"].encode() if "body" in case else None

    reply = request_once(
        collector.app, case.get("method", "POST"), case["url"], body, case.get("headers")
    )

    assert reply.status == 200, reply.body
    if "answer" in case:
        assert response_body(reply) == json.loads(case["answer"])
    else:
        assert reply.headers["content-type"] == "image/gif"
    stored = {BY_TOPIC[sent.topic].table.name: rows(sent) for sent in collector.producer.sent}
    assert stored == {table: json.loads(text) for table, text in case["rows"].items()}


def response_body(reply: Reply) -> dict[str, Any]:
    """The answer without its receipts."""
    return {name: said for name, said in reply.json.items() if not name.startswith("receipt")}


def rows(sent: PublishedRequest) -> list[dict[str, Any]]:
    """The rows that one kind's items become."""
    kind = BY_TOPIC[sent.topic]
    return [
        decided(kind, item, envelope.subject_id, envelope.received_ms, envelope.headers)
        for envelope in sent.envelopes
        for item in json.loads(envelope.items)
    ]


def decided(
    kind: Kind, item: dict[str, Any], website_id: str, received_ms: int, headers: dict[str, str]
) -> dict[str, Any]:
    """The row, without what the request does not decide."""
    found = row(item, kind, subject_id=website_id, received_ms=received_ms, headers=headers)
    return {
        name: plain(value)
        for name, value in found.items()
        if value is not None and name not in FOUND
    }


def plain(value: object) -> object:
    """The value as JSON has it; an instant as Unix milliseconds."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return str(value) if isinstance(value, Decimal) else value
