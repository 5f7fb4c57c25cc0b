"""Creates missing topics and adds partitions; never removes any."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import TypeVar

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import KafkaError, NodeNotReadyError, TopicAlreadyExistsError, for_code
from msgspec import Struct

from deploy.local.kafka.broker import MAX_MESSAGE_BYTES, KafkaUnavailable
from schemas.kafka.connection_problem import explain
from schemas.kafka.topic_configuration import HOUR_MS, SEGMENT_HOURS, SEGMENT_MS
from schemas.kinds import ALL_KINDS
from schemas.runtime.kafka_access import InvalidKafkaAccess, client_arguments
from schemas.runtime.settings import Settings

REQUEST_TIMEOUT_SECONDS = 30.0
OTHER_NODES = 10
"""How often a request is sent again, by chance to another node, when that node is away."""
OTHER_NODE_PAUSE_SECONDS = 0.1


AdminResult = TypeVar("AdminResult")


class TopicSpec(Struct, frozen=True):
    """The required configuration of one topic."""

    name: str
    partitions: int = 8
    replication: int = 1
    retention_hours: int = 72

    @property
    def configuration(self) -> dict[str, str]:
        """Topic-level configuration for Kafka."""
        return {
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
            "retention.ms": str(self.retention_hours * HOUR_MS),
            SEGMENT_MS: str(SEGMENT_HOURS * HOUR_MS),
            # With three replicas, two must have a message before it is acknowledged.
            "min.insync.replicas": "2" if self.replication > 2 else "1",
        }


def required_topics(settings: Settings) -> list[TopicSpec]:
    """Every topic that the services use with these settings."""
    return [
        TopicSpec(
            settings.topic(kind.topic),
            settings.partitions,
            settings.replication,
            settings.retention_hours,
        )
        for kind in ALL_KINDS
    ]


def ensure_topics(
    settings: Settings, topics: Iterable[TopicSpec], seconds: float = REQUEST_TIMEOUT_SECONDS
) -> None:
    """Create missing topics and partitions; idempotent."""
    with_admin_client(settings, lambda admin: _ensure_topics(admin, list(topics)), seconds)


def partition_counts(
    settings: Settings, names: Iterable[str], seconds: float = 10.0
) -> dict[str, int]:
    """Topic → number of partitions; 0 for a topic that does not exist."""
    return with_admin_client(settings, lambda admin: _partition_counts(admin, list(names)), seconds)


def with_admin_client(
    settings: Settings,
    request: Callable[[AIOKafkaAdminClient], Awaitable[AdminResult]],
    seconds: float,
) -> AdminResult:
    """The result of a request to Kafka's admin API; KafkaUnavailable says what to do.

    While a broker is down `request` may be called again: it must be idempotent.
    """

    async def run() -> AdminResult:
        admin = AIOKafkaAdminClient(**client_arguments(settings))
        try:
            await admin.start()
            for _ in range(OTHER_NODES):
                with suppress(NodeNotReadyError):
                    return await request(admin)
                await asyncio.sleep(OTHER_NODE_PAUSE_SECONDS)
            return await request(admin)
        finally:
            await admin.close()

    return answer_of(settings, run(), seconds)


def answer_of(
    settings: Settings, request: Coroutine[None, None, AdminResult], seconds: float
) -> AdminResult:
    """What Kafka answers to a request; KafkaUnavailable says what to do."""
    try:
        return asyncio.run(asyncio.wait_for(request, seconds))
    except (KafkaError, TimeoutError, InvalidKafkaAccess) as error:
        reason = asyncio.run(explain(settings, error))
        raise KafkaUnavailable(f"Kafka at {settings.brokers}: {reason}") from None


async def _ensure_topics(admin: AIOKafkaAdminClient, topics: list[TopicSpec]) -> None:
    have = await _partition_counts(admin, [topic.name for topic in topics])
    if absent := [topic for topic in topics if not have[topic.name]]:
        await _create(admin, absent)
    more = {t.name: NewPartitions(t.partitions) for t in topics if 0 < have[t.name] < t.partitions}
    if more:
        await admin.create_partitions(more)
    # The controller responds before the brokers know of the change.
    while not _has_partitions(  # noqa: ASYNC110 - waits for a change in Kafka
        topics, await _partition_counts(admin, [topic.name for topic in topics])
    ):
        await asyncio.sleep(0.05)


def _has_partitions(topics: list[TopicSpec], have: dict[str, int]) -> bool:
    return all(have[topic.name] >= topic.partitions for topic in topics)


async def _create(admin: AIOKafkaAdminClient, topics: list[TopicSpec]) -> None:
    response = await admin.create_topics(
        [
            NewTopic(
                topic.name, topic.partitions, topic.replication, topic_configs=topic.configuration
            )
            for topic in topics
        ]
    )
    _raise_first(response.topic_errors)


async def _partition_counts(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, int]:
    described = await admin.describe_topics(names)
    return {topic["topic"]: len(topic["partitions"]) for topic in described}


def _raise_first(errors: Iterable[tuple[str, int, str | None]]) -> None:
    """Raise the first error, except for a topic that another process created meanwhile."""
    for name, code, message in errors:
        kind = for_code(code)
        if code and kind is not TopicAlreadyExistsError:
            raise kind(f"{name}: {message or kind.description}")
