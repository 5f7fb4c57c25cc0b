"""The request head: all client hints are kept for enrichment."""

from pathlib import Path

import pytest

from ingest.decoding.request_head import read_link_head, read_request_head
from schemas.envelope import CLIENT_HINTS
from schemas.errors import Malformed
from tests.ingest.in_memory_collector import in_memory_collector


def test_all_client_hints_are_kept_and_truncated(tmp_path: Path) -> None:
    collector = in_memory_collector(tmp_path)
    sent = {name: f'"{number}"' for number, name in enumerate(CLIENT_HINTS)}
    long = {**sent, "sec-ch-ua-full-version-list": "x" * 600, "sec-ch-ua-arch": '"x86"'}

    reply = collector.post("/track?website_id=shop", {"name": "a"}, headers=long)

    assert reply.status == 200
    assert collector.producer.sent[0].envelopes[0].headers == {
        **sent,
        "sec-ch-ua-full-version-list": "x" * 512,
    }


@pytest.mark.parametrize(("characters", "status"), [(256, 200), (257, 400)])
def test_an_idempotency_key_has_at_most_256_characters(
    tmp_path: Path, characters: int, status: int
) -> None:
    key = {"idempotency-key": "k" * characters}

    reply = in_memory_collector(tmp_path).post("/track?website_id=shop", {"name": "a"}, headers=key)

    assert reply.status == status


@pytest.mark.parametrize("path", ["/track", "/batch", "/vitals"])
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("website_id=shop&website_id=blog", "website_id"),
        ("client_id=blog&sdk_name=x&client_id=shop", "client_id"),
        ("website_id=shop&timeout=1&timeout=2", "timeout"),
    ],
)
def test_a_known_parameter_has_one_value(tmp_path: Path, path: str, query: str, name: str) -> None:
    collector = in_memory_collector(tmp_path)

    for _ in range(2):  # the second time the query string is known
        reply = collector.post(f"{path}?{query}", {"name": "a"})
        message = f"'{name}' has several values in the query string; give it one"
        assert (reply.status, reply.json["message"]) == (400, message)
    assert collector.producer.sent == []


@pytest.mark.parametrize(
    "query",
    [
        "website_id=shop&website_id=shop",
        "website_id=shop&website_id=",
        "website_id=shop&tag=a&tag=b",
    ],
)
def test_equal_values_and_unknown_parameters_may_be_repeated(tmp_path: Path, query: str) -> None:
    assert in_memory_collector(tmp_path).post(f"/track?{query}", {"name": "a"}).status == 200


def test_the_parameters_of_a_link_are_for_its_target() -> None:
    scope = {"headers": [], "query_string": b"timeout=1&timeout=2"}

    assert read_link_head(scope).website_id is None
    with pytest.raises(Malformed, match="'timeout' has several values"):
        read_request_head(scope)
