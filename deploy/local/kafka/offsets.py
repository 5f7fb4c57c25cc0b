"""Offsets of topics in Kafka, and those up to which the tables are complete."""

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from msgspec import Struct

from schemas.kinds import ALL_KINDS, Kind
from schemas.lake.committed_offsets import app_id, epoch_app_id, identity_app_id
from schemas.lake.topic_identity import TopicIdentity, fetch_topic_identities
from schemas.runtime.settings import Settings


class TopicOffsets(Struct, frozen=True):
    """A topic's id in Kafka, and the first and end offsets of its partitions."""

    identity: TopicIdentity | None
    first: Mapping[int, int]
    end: Mapping[int, int]


class TablePosition(Struct, frozen=True):
    """The offsets of a topic up to which a table is complete."""

    epoch: int
    """Newest epoch of the topic in the table; 0 without any."""
    known: bool
    """Whether the table was written from a topic with this id."""
    next: Mapping[int, int]
    """Partition → next offset; without partitions that were never read."""


def table_position(settings: Settings, kind: Kind, kafka: TopicOffsets) -> TablePosition | None:
    """The table's offsets for a kind; None when it cannot be opened (found by another check)."""
    from schemas.lake.delta_table import open_table  # with the table format

    try:
        table = open_table(settings.lake_url, kind.table)
    except Exception:
        return None
    if table is None:
        return None
    topic = settings.topic(kind.topic)
    newest = table.transaction_version(epoch_app_id(topic)) or 0
    this = identity_app_id(topic, kafka.identity.id) if kafka.identity else epoch_app_id(topic)
    own = table.transaction_version(this) or 0
    epoch = own or newest or settings.ingest_epoch
    read = {p: table.transaction_version(app_id(epoch, topic, p)) for p in kafka.end}
    return TablePosition(newest, bool(own), {p: offset for p, offset in read.items() if offset})


async def topic_offsets(settings: Settings) -> dict[str, TopicOffsets]:
    """Offsets of every topic that exists; KafkaError when Kafka does not respond."""
    names = [settings.topic(kind.topic) for kind in ALL_KINDS]
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.brokers)
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.brokers)
    try:
        await admin.start()
        await consumer.start()
        described = await admin.describe_topics(names)
        identities = await fetch_topic_identities(admin._client, names)
        partitions = [
            TopicPartition(topic["topic"], metadata["partition"])
            for topic in described
            for metadata in topic["partitions"]
        ]
        first, end = (
            await consumer.beginning_offsets(partitions),
            await consumer.end_offsets(partitions),
        )
    finally:
        await consumer.stop()
        await admin.close()
    return {
        name: TopicOffsets(
            identities.get(name),
            {
                partition.partition: first[partition]
                for partition in partitions
                if partition.topic == name
            },
            {
                partition.partition: end[partition]
                for partition in partitions
                if partition.topic == name
            },
        )
        for name in {partition.topic for partition in partitions}
    }
