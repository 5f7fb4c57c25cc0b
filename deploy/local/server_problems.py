"""Problems of the servers that all processes use: the brokers of a Kafka cluster, and Valkey."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from schemas.http.limit_counts import server_address, server_counts
from schemas.runtime.settings import Settings

KAFKA_SECONDS = 8.0


class KafkaProblems(Struct, frozen=True):
    """What is wrong with Kafka, a sentence each."""

    texts: Sequence[str] = ()
    takes_messages: bool = True
    """Whether any partition does."""


def kafka_problems(settings: Settings) -> KafkaProblems:
    """Of a Kafka that `TIDEMARK_KAFKA` names: it is away, or partitions lack leader or replicas."""
    if not settings.kafka:
        return KafkaProblems()
    # With the client of Kafka.
    from deploy.local.kafka.broker import KafkaUnavailable
    from deploy.local.kafka.topic_configuration import kafka_state
    from deploy.local.kafka.topics import required_topics

    names = [topic.name for topic in required_topics(settings)]
    try:
        state = kafka_state(settings, names, KAFKA_SECONDS)
    except KafkaUnavailable as error:
        return KafkaProblems([f"Kafka at {settings.brokers} does not answer: {error}"], False)
    topics = state.topics.values()
    count = sum(topic.partitions for topic in topics)
    rejecting = sum(len(topic.rejecting) for topic in topics)
    lacking = sum(len(topic.out_of_sync) for topic in topics)
    problems = {
        f"broker {', '.join(state.away)} of Kafka does not answer": len(state.away),
        f"{rejecting} of {count} partitions in Kafka take no message: they have no leader, or "
        "fewer replicas in sync than min.insync.replicas": rejecting,
        f"{lacking} of {count} partitions in Kafka lack a replica": lacking,
    }
    texts = [text for text, number in problems.items() if number]
    return KafkaProblems(texts, not count or rejecting < count)


def limits_problem(settings: Settings) -> str | None:
    """Why the server of `TIDEMARK_LIMITS_URL` cannot be used; None when it can, or none is set."""
    try:
        asyncio.run(_ping(settings))
    except OSError as error:
        return (
            f"rate limits are those of each machine: the server "
            f"{server_address(settings.limits_url)} does not answer ({error})"
        )
    return None


async def _ping(settings: Settings) -> None:
    if counts := server_counts(settings):
        try:
            await counts.ping()
        finally:
            await counts.close()
