"""What the configuration of a topic can lose or stop is found."""

import pytest

from schemas.kafka.topic_configuration import refusal, topic_problems
from schemas.runtime.settings import Settings

HOUR_MS = 3_600_000
SAFE = {
    "cleanup.policy": "delete",
    "retention.ms": str(72 * HOUR_MS),
    "retention.bytes": "-1",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
}


def test_a_safe_topic_has_no_problem() -> None:
    settings = Settings(replication=3)

    assert list(topic_problems(settings, SAFE, 3)) == []
    assert list(topic_problems(Settings(), {**SAFE, "min.insync.replicas": "1"}, 1)) == []
    assert list(topic_problems(settings, {**SAFE, "retention.ms": "-1"}, 3)) == []
    for replicas in (1, 2, 3):
        assert (
            list(topic_problems(Settings(), {}, replicas)) == []
        )  # a configuration that may not be read


@pytest.mark.parametrize(
    ("changed", "replicas", "problem", "remedy"),
    [
        ({"cleanup.policy": "compact"}, 3, "keeps only messages with a key", "=delete"),
        ({"cleanup.policy": "compact,delete"}, 3, "keeps only messages with a key", "=delete"),
        ({"retention.ms": str(6 * HOUR_MS)}, 3, "after 6 hours, not 72", "HOURS to at most 6"),
        ({"retention.bytes": "1000"}, 3, "beyond 1000 bytes", "retention.bytes=-1"),
        ({"segment.ms": str(168 * HOUR_MS)}, 3, "up to 168 hours", "segment.ms=86400000"),
        ({}, 2, "has 2 replicas, not 3", "TIDEMARK_REPLICATION=2"),
        ({"min.insync.replicas": "1"}, 3, "acknowledges with min.insync.replicas=1", "=2"),
        ({"min.insync.replicas": "3"}, 3, "min.insync.replicas=3 with 3 replicas", "=2"),
        ({"unclean.leader.election.enable": "true"}, 3, "election.enable=true", "=false"),
    ],
)
def test_each_unsafe_value_is_named_with_its_remedy(
    changed: dict[str, str], replicas: int, problem: str, remedy: str
) -> None:
    found = list(topic_problems(Settings(replication=3), {**SAFE, **changed}, replicas))

    assert problem in found[0].problem
    assert remedy in found[0].remedy


def test_nothing_is_sent_to_a_compacted_topic() -> None:
    assert refusal(SAFE) is None
    assert "set it to delete" in (refusal({"cleanup.policy": "compact"}) or "")
