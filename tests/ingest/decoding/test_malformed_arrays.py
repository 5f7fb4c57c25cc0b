"""An item that is no JSON harms no other item of its array."""

import pytest

from ingest.decoding import malformed_arrays
from ingest.decoding.decoder import Decoder
from ingest.decoding.malformed_arrays import split_malformed
from schemas.errors import Malformed, NoneAccepted
from schemas.kinds import CUSTOM_EVENT
from tests.ingest.in_memory_collector import InMemoryCollector

NO_JSON = "The item is not valid JSON"
NAN = "The item is not valid JSON, which has no NaN and no Infinity; send null instead"
EVENTS = Decoder(CUSTOM_EVENT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"name": "b", "properties": {"x": NaN}}', NAN),
        (b'{"name": "b", "properties": {"x": [1, -Infinity]}}', NAN),
        (b'{"name": "NaN", "time_on_page": undefined}', NAN),
        (b"NaN", NAN),
        (b"{'name': 'b'}", NO_JSON),
        (b'{"name": "b",}', NO_JSON),
        (b'{"name": "a\nb ]},{[ \\" \\\\"}', NO_JSON),
        (b'{"name" "b"}', NO_JSON),
        (b"", NO_JSON),
    ],
)
def test_an_item_that_is_no_json_is_rejected_alone(text: bytes, message: str) -> None:
    accepted = EVENTS.decode(b' [{"name": "a"}, ' + text + b' ,{"name": "c"}] ')

    assert [item.name for item in accepted.items] == ["a", "c"]  # type: ignore[attr-defined]
    assert accepted.array == b'[{"name": "a"},{"name": "c"}]'
    assert (list(accepted.indexes), accepted.ignored) == ([0, 2], [])
    assert [(reject.index, reject.message) for reject in accepted.rejected] == [(1, message)]


@pytest.mark.parametrize("path", ["/batch", "/track", "/events", "/vitals"])
def test_every_route_for_arrays_rejects_it_by_its_index(
    collector: InMemoryCollector, path: str
) -> None:
    item = b'{"name":"a","event_name":"a","path":"/","metricName":"CLS","metricValue":%b}'

    reply = collector.post(f"{path}?client_id=shop", b"[%b,%b]" % (item % b"0.1", item % b"NaN"))

    assert (reply.status, len(collector.producer.sent)) == (200, 1)
    if path == "/batch":
        assert [result["status"] for result in reply.json["results"]] == ["success", "error"]
        assert reply.json["results"][1]["message"] == NAN
    else:
        assert [reject["index"] for reject in reply.json["rejected"]] == [1]
        assert reply.json["rejected"][0]["message"] == NAN


def test_a_body_with_nothing_but_such_items_is_refused() -> None:
    with pytest.raises(NoneAccepted, match=r"No item was accepted\. The item is not valid JSON"):
        EVENTS.decode(b"[NaN]")


@pytest.mark.parametrize(
    "array",
    [
        b'[{"name": "a"}, {"name": "b"',
        b'[{"name": "a"}, {"name": "b"]]',
        b'[{"name": "a"}, NaN] []',
        b'[{"name": "a"}, "b]',
        b"[" * 300 + b"NaN" + b"]" * 300,
        b"[" + b"NaN," * 501 + b"NaN]",
    ],
    ids=["cut off", "mismatched", "two arrays", "open string", "deep", "many"],
)
def test_an_array_without_an_end_is_refused(array: bytes) -> None:
    with pytest.raises(Malformed, match="The body is not valid JSON"):
        EVENTS.decode(array)


def test_splitting_takes_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert split_malformed(b'["a", {NaN}]') == [b'"a"', b"{NaN}"]

    monkeypatch.setattr(malformed_arrays, "MAX_TOKENS", 5)

    assert split_malformed(b'["a", {NaN}]') == []
