"""Whether a topic keeps what it acknowledges until it is stored, by its configuration in Kafka."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from schemas.runtime.settings import Settings

MESSAGE_SIZE = "max.message.bytes"
CLEANUP = "cleanup.policy"
RETENTION_MS = "retention.ms"
RETENTION_BYTES = "retention.bytes"
SEGMENT_MS = "segment.ms"
IN_SYNC = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
CHECKED = (*(MESSAGE_SIZE, CLEANUP, RETENTION_MS, RETENTION_BYTES, SEGMENT_MS, IN_SYNC, UNCLEAN),)
"""The names of the topic configuration that are read."""

HOUR_MS = 3_600_000
SEGMENT_HOURS = 24
"""Hours that one segment spans. Kafka deletes a segment as a whole, when its newest message is as
old as the retention: the oldest is older by as much."""
Configuration = Mapping[str, str]
"""Topic configuration by name; without what this client may not read."""


class TopicProblem(Struct, frozen=True):
    """Risk of a configuration, and what to do."""

    problem: str
    meaning: str
    remedy: str


def refusal(configuration: Configuration) -> str | None:
    """Why nothing may be sent to a topic; None when it keeps messages without keys."""
    policy = configuration.get(CLEANUP, "delete")
    if "compact" not in policy:
        return None
    return (
        f"has {CLEANUP}={policy}, which keeps only messages with a key: "
        f"set it to delete with kafka-configs"
    )


def topic_problems(
    settings: Settings, configuration: Configuration, replicas: int
) -> Iterator[TopicProblem]:
    """Everything that can lose or stop messages, worst first."""
    if problem := refusal(configuration):
        yield TopicProblem(
            problem.partition(":")[0], "Collectors refuse all requests.", f"set {CLEANUP}=delete"
        )
    yield from _retention_problems(settings, configuration)
    yield from _replication_problems(settings, configuration, replicas)


def _retention_problems(settings: Settings, configuration: Configuration) -> Iterator[TopicProblem]:
    kept_ms = int(configuration.get(RETENTION_MS, -1))
    wanted = settings.retention_hours
    if 0 <= kept_ms < wanted * HOUR_MS:
        hours = f"{kept_ms / HOUR_MS:g}"
        yield TopicProblem(
            f"deletes messages after {hours} hours, not {wanted}",
            "What workers have not stored by then is lost.",
            f"set {RETENTION_MS}={wanted * HOUR_MS}, or TIDEMARK_RETENTION_HOURS to at most "
            f"{hours}",
        )
    if (kept_bytes := int(configuration.get(RETENTION_BYTES, -1))) >= 0:
        yield TopicProblem(
            f"deletes messages beyond {kept_bytes} bytes of a partition",
            "What workers have not stored by then is lost, however young it is.",
            f"set {RETENTION_BYTES}=-1",
        )
    if (segment_ms := int(configuration.get(SEGMENT_MS, 0))) > SEGMENT_HOURS * HOUR_MS:
        yield TopicProblem(
            f"keeps messages for up to {segment_ms / HOUR_MS:g} hours beyond their retention",
            "Erased values are in Kafka for longer than the report of the erasure says.",
            f"set {SEGMENT_MS}={SEGMENT_HOURS * HOUR_MS}",
        )


def _replication_problems(
    settings: Settings, configuration: Configuration, replicas: int
) -> Iterator[TopicProblem]:
    if replicas < settings.replication:
        yield TopicProblem(
            f"has {replicas} replicas, not {settings.replication}",
            "Acknowledged messages are lost with the disks of so many brokers.",
            f"add replicas with kafka-reassign-partitions, or set TIDEMARK_REPLICATION={replicas}",
        )
    unread = 1 if replicas < 3 else 2
    in_sync = int(configuration.get(IN_SYNC, unread))
    if in_sync < 2 < replicas:
        yield TopicProblem(
            f"acknowledges with {IN_SYNC}={in_sync}",
            "A message may be on one disk only when it is acknowledged, and is lost with it.",
            f"set {IN_SYNC}=2",
        )
    if in_sync >= max(replicas, 2):
        yield TopicProblem(
            f"has {IN_SYNC}={in_sync} with {replicas} replicas",
            "Nothing is accepted while a broker is away."
            if in_sync == replicas
            else "Nothing is ever accepted.",
            f"set {IN_SYNC}={max(1, replicas - 1)}",
        )
    if replicas > 1 and configuration.get(UNCLEAN) == "true":
        yield TopicProblem(
            f"has {UNCLEAN}=true",
            "A replica that lacks acknowledged messages may become the leader: they are lost.",
            f"set {UNCLEAN}=false",
        )
