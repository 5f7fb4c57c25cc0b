"""Problems of the servers that all processes use: the brokers of a Kafka cluster, and Valkey."""

import asyncio
from collections.abc import Iterator

from schemas.http.server_counts import server_address, server_counts
from schemas.runtime.settings import Settings

KAFKA_SECONDS = 5.0


def kafka_problems(settings: Settings) -> Iterator[str]:
    """Of a Kafka that `TIDEMARK_KAFKA` names: it is away, or partitions lack leader or replicas."""
    if not settings.kafka:
        return
    # With the client of Kafka.
    from deploy.local.kafka.broker import KafkaUnavailable
    from deploy.local.kafka.topic_configuration import existing_topics
    from deploy.local.kafka.topics import required_topics

    names = [topic.name for topic in required_topics(settings)]
    try:
        topics = existing_topics(settings, names, KAFKA_SECONDS).values()
    except KafkaUnavailable as error:
        yield f"Kafka at {settings.brokers} does not answer: {error}"
        return
    count = sum(topic.partitions for topic in topics)
    if leaderless := sum(len(topic.without_leader) for topic in topics):
        yield f"{leaderless} of {count} partitions in Kafka have no leader and take no message"
    if lacking := sum(len(topic.out_of_sync) for topic in topics):
        yield f"{lacking} of {count} partitions in Kafka lack a replica: is a broker away?"


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
