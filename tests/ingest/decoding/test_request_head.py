"""The request head: all client hints are kept for enrichment."""

from pathlib import Path

import pytest

from schemas.envelope import CLIENT_HINTS
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
