"""Checks of Kafka: its topics are there, take our messages, and are those that the tables read."""

import asyncio
from collections.abc import Iterator, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from msgspec import Struct

from deploy.local.doctor.check import Check, NotLooked, Scope
from deploy.local.kafka.topics import declare, partitions, topics_of
from deploy.local.processes.process_file import read_account
from deploy.local.unavailable import KafkaAway
from schemas.kinds import EVERY_KIND, Kind
from schemas.lake.committed_offsets import app_id, epoch_app_id, identity_app_id
from schemas.lake.topic_identity import TopicIdentity, identify
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings

ANSWER_SECONDS = 10.0
DECLARE = "tidemark topics --declare"
AWAY = "Kafka at "


class Borders(Struct, frozen=True):
    """What Kafka has of one topic: which making of it, and its first and next offsets."""

    identity: TopicIdentity | None
    first: Mapping[int, int]
    end: Mapping[int, int]


class Position(Struct, frozen=True):
    """How far a table is with a topic."""

    epoch: int
    """The newest that the table knows; 0 when it knows none."""
    known: bool
    """Whether the table has read this very making of the topic."""
    next: Mapping[int, int]
    """By partition; what was never read is not in it."""


def missing_topics(scope: Scope) -> Iterator[Finding]:
    """Topics that are not there, or have fewer partitions than asked for."""
    settings = scope.settings
    _reachable(settings)
    wanted = topics_of(settings)
    try:
        have = partitions(settings.brokers, [topic.name for topic in wanted], ANSWER_SECONDS)
    except KafkaAway as away:
        yield _away(settings, str(away))
        return
    for topic in wanted:
        if have[topic.name] < topic.partitions:
            yield Finding(
                subject=f"topic {topic.name}",
                problem=f"has {have[topic.name]} partitions, not {topic.partitions}"
                if have[topic.name]
                else "is not in Kafka",
                meaning="What is sent for it is refused with 503."
                if not have[topic.name]
                else "Fewer workers than set can share it.",
                remedy=DECLARE,
            )


def declare_topics(scope: Scope, finding: Finding) -> str | None:
    """Make what is missing; nothing is ever made smaller."""
    if finding.remedy != DECLARE:
        return None
    declare(scope.settings.brokers, topics_of(scope.settings))
    return f"{finding.subject}: declared"


def misplaced(scope: Scope) -> Iterator[Finding]:
    """Tables whose next offsets do not lie in the topics that Kafka has."""
    settings = scope.settings
    _reachable(settings)
    try:
        found = asyncio.run(asyncio.wait_for(_borders(settings), ANSWER_SECONDS))
    except (KafkaError, TimeoutError, OSError) as away:
        yield _away(settings, str(away) or "no answer")
        return
    for kind in EVERY_KIND:
        topic = settings.topic(kind.topic)
        if topic in found and (position := position_of(settings, kind, found[topic])):
            yield from compare(topic, kind.table.name, position, found[topic])


def compare(topic: str, table: str, position: Position, kafka: Borders) -> Iterator[Finding]:
    """What is wrong between a table's position and what Kafka has."""
    if position.epoch and kafka.identity and not position.known:
        yield Finding(
            subject=f"topic {topic}",
            problem=f"is another one than table {table} has read (Kafka was made anew or changed)",
            meaning="A worker begins a new epoch and reads it from its first message, or refuses "
            "to, when this Kafka is another cluster; what the old topic still held is not stored.",
            remedy="tail -n 40 logs/worker-1.log in the data folder says which, and what to set",
        )
        return
    for partition, offset in sorted(position.next.items()):
        end, first = kafka.end.get(partition, 0), kafka.first.get(partition, 0)
        place = f"{topic}/{partition}"
        if offset > end:
            yield Finding(
                subject=place,
                problem=f"ends at offset {end}, but table {table} has read up to {offset}",
                meaning="The topic lost messages, or is another one: new ones would be taken for "
                "stored. The worker refuses it with exit code 78.",
                remedy=f"restart with TIDEMARK_INGEST_EPOCH={max(position.epoch, 1) + 1}",
            )
        elif offset < first:
            yield Finding(
                subject=place,
                problem=f"begins at offset {first}, but table {table} has read up to {offset} only",
                meaning=f"{first - offset} messages were deleted by Kafka (its retention) before "
                "they were stored. The worker notes them as lost in the quarantine and goes on.",
                remedy="start the workers, and raise TIDEMARK_RETENTION_HOURS for the next time",
            )


def position_of(settings: Settings, kind: Kind, kafka: Borders) -> Position | None:
    """Where the table of a kind is; None when it cannot be opened, which is another's finding."""
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
    return Position(newest, bool(own), {p: offset for p, offset in read.items() if offset})


async def _borders(settings: Settings) -> dict[str, Borders]:
    names = [settings.topic(kind.topic) for kind in EVERY_KIND]
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.brokers)
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.brokers)
    try:
        await admin.start()
        await consumer.start()
        described = await admin.describe_topics(names)
        identities = await identify(admin._client, names)
        places = [
            TopicPartition(topic["topic"], one["partition"])
            for topic in described
            for one in topic["partitions"]
        ]
        first, end = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    finally:
        await consumer.stop()
        await admin.close()
    return {
        name: Borders(
            identities.get(name),
            {place.partition: first[place] for place in places if place.topic == name},
            {place.partition: end[place] for place in places if place.topic == name},
        )
        for name in {place.topic for place in places}
    }


def _reachable(settings: Settings) -> None:
    if not settings.kafka and read_account(settings.data) is None:
        raise NotLooked("Kafka runs with `tidemark up`, and that does not run")


def _away(settings: Settings, reason: str) -> Finding:
    return Finding(
        subject=f"{AWAY}{settings.brokers}",
        problem=f"does not answer: {reason}",
        meaning="Nothing is accepted: collectors answer 503 until it does.",
        remedy="start it, or correct TIDEMARK_KAFKA; of `tidemark up` see logs/broker.log",
    )


def _is_away(finding: Finding) -> bool:
    """A broker without room ends."""
    return finding.subject.startswith(AWAY)


TOPICS = Check(
    "topics", "every topic is in Kafka", missing_topics, declare_topics, of_full_disk=_is_away
)
POSITIONS = Check(
    "positions",
    "tables have read what Kafka has, and nothing beyond",
    misplaced,
    of_full_disk=_is_away,
)
