"""All topics, declared on a Kafka: made when absent, given more partitions, never less."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code
from msgspec import Struct

from deploy.local.kafka.broker_properties import MESSAGE_BYTES
from deploy.local.unavailable import KafkaAway
from schemas.kinds import EVERY_KIND
from schemas.runtime.settings import Settings

ANSWER_SECONDS = 30.0

# While a cluster starts, aiokafka logs an error for every attempt; what matters is raised.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


Answer = TypeVar("Answer")


class Topic(Struct, frozen=True):
    """One topic as it should be."""

    name: str
    partitions: int = 8
    replication: int = 1
    retention_hours: int = 72

    @property
    def configuration(self) -> dict[str, str]:
        """Kafka's settings of this topic."""
        return {
            "max.message.bytes": str(MESSAGE_BYTES),
            "retention.ms": str(self.retention_hours * 3_600_000),
            # With three copies, two have to hold what was acknowledged.
            "min.insync.replicas": "2" if self.replication > 2 else "1",
        }


def topics_of(settings: Settings) -> list[Topic]:
    """Every topic that the services of these settings use."""
    return [
        Topic(
            settings.topic(kind.topic),
            settings.partitions,
            settings.replication,
            settings.retention_hours,
        )
        for kind in EVERY_KIND
    ]


def declare(address: str, topics: Iterable[Topic], seconds: float = ANSWER_SECONDS) -> None:
    """Make Kafka have these topics; a second call with the same topics changes nothing."""
    _ask(address, lambda admin: _declare(admin, list(topics)), seconds)


def partitions(address: str, names: Iterable[str], seconds: float = 10.0) -> dict[str, int]:
    """Partitions that each topic has; a topic that is not there has none."""
    return _ask(address, lambda admin: _partitions(admin, list(names)), seconds)


def _ask(
    address: str, question: Callable[[AIOKafkaAdminClient], Awaitable[Answer]], seconds: float
) -> Answer:
    async def asked() -> Answer:
        admin = AIOKafkaAdminClient(bootstrap_servers=address)
        try:
            await admin.start()
            return await question(admin)
        finally:
            await admin.close()

    try:
        return asyncio.run(asyncio.wait_for(asked(), seconds))
    except (KafkaError, TimeoutError) as refused:
        raise KafkaAway(f"Kafka at {address}: {refused or 'no answer'}") from None


async def _declare(admin: AIOKafkaAdminClient, topics: list[Topic]) -> None:
    have = await _partitions(admin, [topic.name for topic in topics])
    if absent := [topic for topic in topics if not have[topic.name]]:
        await _create(admin, absent)
    more = {t.name: NewPartitions(t.partitions) for t in topics if 0 < have[t.name] < t.partitions}
    if more:
        await admin.create_partitions(more)
    # The controller answers before the brokers have heard of it.
    while not _satisfied(  # noqa: ASYNC110 - what is waited for happens in Kafka
        topics, await _partitions(admin, [topic.name for topic in topics])
    ):
        await asyncio.sleep(0.05)


def _satisfied(topics: list[Topic], have: dict[str, int]) -> bool:
    return all(have[topic.name] >= topic.partitions for topic in topics)


async def _create(admin: AIOKafkaAdminClient, topics: list[Topic]) -> None:
    answer = await admin.create_topics(
        [
            NewTopic(
                topic.name, topic.partitions, topic.replication, topic_configs=topic.configuration
            )
            for topic in topics
        ]
    )
    _raise_first(answer.topic_errors)


async def _partitions(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, int]:
    described = await admin.describe_topics(names)
    return {topic["topic"]: len(topic["partitions"]) for topic in described}


def _raise_first(errors: Iterable[tuple[str, int, str | None]]) -> None:
    """Raise the first error; another process making the same topic at the same time is none."""
    for name, code, message in errors:
        kind = for_code(code)
        if code and kind is not TopicAlreadyExistsError:
            raise kind(f"{name}: {message or kind.description}")
