"""Hostile items on the mixed routes: rejected with a message, never published."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.decoding.tracker_formats import TRACKER_FORMATS
from schemas.kinds import KINDS
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector
from tests.ingest.server.test_hostile_input import BODIES

BY_TOPIC = {kind.topic: kind for kind in KINDS}
TYPES: tuple[Any, ...] = (*TRACKER_FORMATS, "", "page", 7, None, [], {})


@pytest.fixture(scope="module")
def collector() -> Iterator[InMemoryCollector]:
    with TemporaryDirectory() as folder:
        yield in_memory_collector(Path(folder))


@pytest.fixture(autouse=True)
def _nothing_sent(collector: InMemoryCollector) -> None:
    collector.producer.sent.clear()


@pytest.mark.parametrize("what", BODIES)
def test_a_malformed_item_is_refused(collector: InMemoryCollector, what: str) -> None:
    body, status = BODIES[what]

    reply = collector.post("/?client_id=shop", body)

    assert reply.status in (400, status), reply.body
    assert (reply.json["status"], collector.producer.sent) == ("error", [])


@pytest.mark.parametrize("what", [what for what in BODIES if what != "two objects"])
def test_an_invalid_item_does_not_affect_others_of_its_batch(
    collector: InMemoryCollector, what: str
) -> None:
    body, _ = BODIES[what]

    reply = collector.post("/batch?client_id=shop", b'[{"name":"good"},' + body + b"]")

    sent = [item for sent in collector.producer.sent for item in sent.items]
    assert reply.status in (200, 400, 413)
    assert sent in ([], [{"name": "good"}])
    assert reply.json["status"] == ("partial" if sent else "error")


@pytest.mark.parametrize("payload", ["{}", "[]", "7", '"x"', "null", '{"payload":{"name":"a"}}'])
def test_a_payload_may_be_anything(collector: InMemoryCollector, payload: str) -> None:
    reply = collector.post("/?client_id=shop", f'{{"payload":{payload}}}'.encode())

    assert (reply.status, collector.producer.sent) == (400, [])


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = sorted({name for kind in KINDS for name in kind.item.__struct_encode_fields__})
odd_items = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES),
        "payload": st.dictionaries(st.sampled_from(NAMES), anything, max_size=4) | anything,
        "lcp": st.floats(allow_nan=False) | anything,
        "anonymous_id": anything,
        "gclid": anything,
        "eventName": anything,
        **{name: st.text(max_size=9) | anything for name in ("name", "href", "path", "message")},
        **{name: anything for name in NAMES if name not in ("name", "href", "path", "message")},
    },
)
ARRAYS = ("/batch", "/events")
ASKED = (*NAMES, "type", "payload[lcp]", "properties[a]")
BOUNDED = settings(
    max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@BOUNDED
@given(
    st.lists(odd_items | anything, min_size=1, max_size=6), st.sampled_from(["/batch", "/events"])
)
def test_any_batch_gets_a_result_per_item(
    collector: InMemoryCollector, items: list[Any], path: str
) -> None:
    collector.producer.sent.clear()

    reply = collector.post(f"{path}?client_id=shop", json.dumps(items).encode())

    assert reply.status in (200, 400)
    readable(collector)
    if path == "/batch" and "results" in reply.json:
        accepted = [result for result in reply.json["results"] if result["status"] == "success"]
        assert len(reply.json["results"]) == len(items)
        assert reply.json["processed"] == len(accepted)
        assert bool(accepted) == bool(collector.producer.sent)


@BOUNDED
@given(
    st.dictionaries(st.sampled_from([*NAMES, "type", "payload[lcp]", "properties[a]"]), st.text())
)
def test_any_query_string_of_the_pixel_gets_a_response(
    collector: InMemoryCollector, query: dict[str, str]
) -> None:
    collector.producer.sent.clear()

    reply = collector.get("/px.jpg?" + urlencode({**query, "client_id": "shop"}, errors="replace"))

    assert reply.status in (200, 400)
    assert bool(collector.producer.sent) == (reply.status == 200)
    readable(collector)


def readable(collector: InMemoryCollector) -> None:
    """What was sent on is what the stream can read."""
    for sent in collector.producer.sent:
        items: Any = list[BY_TOPIC[sent.topic].item]  # type: ignore[misc]
        for envelope in sent.envelopes:
            assert len(msgspec.json.decode(envelope.items, type=items)) == envelope.count
