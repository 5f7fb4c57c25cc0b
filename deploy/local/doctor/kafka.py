"""Checks of Kafka: topics exist and keep messages, offsets match the tables."""

import asyncio
from collections.abc import Iterator

from aiokafka.errors import KafkaError

from deploy.local.doctor.check import Check, CheckContext, CheckSkipped
from deploy.local.kafka.broker import KafkaUnavailable
from deploy.local.kafka.offsets import TablePosition, table_positions, topic_offsets
from deploy.local.kafka.topic_configuration import kafka_state
from deploy.local.kafka.topics import ensure_topics, partition_counts, required_topics
from deploy.local.processes.process_file import read_processes_file
from schemas.kafka.connection_problem import explain
from schemas.kafka.topic_configuration import topic_problems
from schemas.kinds import ALL_KINDS, IMPORTED_EVENT, Kind
from schemas.lake.topic_offsets import TopicOffsets
from schemas.runtime.finding import Finding, finding_id
from schemas.runtime.settings import Settings

REQUEST_TIMEOUT_SECONDS = 10.0
DECLARE_COMMAND = "tidemark topics --declare"
AWAY = "Kafka at "


def find_missing_topics(scope: CheckContext) -> Iterator[Finding]:
    """Topics that do not exist, or have fewer partitions than the settings require."""
    settings = scope.settings
    _require_running_kafka(settings)
    wanted = required_topics(settings)
    try:
        have = partition_counts(settings, [topic.name for topic in wanted], REQUEST_TIMEOUT_SECONDS)
    except KafkaUnavailable as error:
        yield _unreachable_finding(settings, str(error))
        return
    for topic in wanted:
        if have[topic.name] < topic.partitions:
            yield Finding(
                subject=f"topic {topic.name}",
                problem=f"has {have[topic.name]} partitions, not {topic.partitions}"
                if have[topic.name]
                else "does not exist in Kafka",
                meaning="Requests for it are rejected with 503."
                if not have[topic.name]
                else "It can be shared by fewer workers than the settings ask for.",
                remedy=DECLARE_COMMAND,
            )


def find_unsafe_topics(scope: CheckContext) -> Iterator[Finding]:
    """Topics whose configuration can lose or stop what Kafka acknowledges."""
    settings = scope.settings
    _require_running_kafka(settings)
    names = [topic.name for topic in required_topics(settings)]
    try:
        state = kafka_state(settings, names, REQUEST_TIMEOUT_SECONDS)
    except KafkaUnavailable as error:
        yield _unreachable_finding(settings, str(error))
        return
    for broker in state.away:
        yield Finding(
            subject=f"broker {broker}",
            problem="does not answer, and has replicas of the topics",
            meaning="What is acknowledged has one replica less; without another broker requests "
            "may be rejected.",
            remedy="start it, or look at its log",
        )
    for name, topic in state.topics.items():
        subject = f"topic {name}"
        if topic.rejecting:
            yield Finding(
                subject=subject,
                problem=f"{len(topic.rejecting)} of {topic.partitions} partitions take no message",
                meaning="They have no leader, or fewer replicas in sync than min.insync.replicas. "
                "Requests go to other partitions where they can, the rest is answered with 503.",
                remedy="start the missing brokers; tidemark topics lists the partitions",
            )
        for found in topic_problems(settings, topic.configuration, topic.replicas):
            accepted_by = finding_id(subject, found.problem)  # an operator may mean it
            yield Finding(subject, found.problem, found.meaning, found.remedy, accepted_by)


def repair_missing_topics(scope: CheckContext, finding: Finding) -> str | None:
    """Create missing topics and partitions; none are removed."""
    if finding.remedy != DECLARE_COMMAND:
        return None
    ensure_topics(scope.settings, required_topics(scope.settings))
    return f"{finding.subject}: created"


def find_offset_mismatches(scope: CheckContext) -> Iterator[Finding]:
    """Tables whose next offsets lie outside the offsets in Kafka."""
    settings = scope.settings
    _require_running_kafka(settings)
    try:
        offsets = asyncio.run(asyncio.wait_for(topic_offsets(settings), REQUEST_TIMEOUT_SECONDS))
    except (KafkaError, TimeoutError, OSError) as error:
        yield _unreachable_finding(settings, asyncio.run(explain(settings, error)))
        return
    positions = table_positions(settings, offsets)
    for kind in ALL_KINDS:
        topic = settings.topic(kind.topic)
        if position := positions.get(topic):
            yield from compare_offsets(topic, kind, position, offsets[topic])
    unread = [
        kind.table.name
        for kind in ALL_KINDS
        if settings.topic(kind.topic) in offsets.keys() - positions.keys()
    ]
    if unread:
        names = ", ".join(dict.fromkeys(unread))
        raise CheckSkipped(f"not checked: tables that cannot be read ({names})")


def compare_offsets(
    topic: str, kind: Kind, position: TablePosition, kafka: TopicOffsets
) -> Iterator[Finding]:
    """Findings from comparing a table's offsets with those in Kafka."""
    table = kind.table.name
    if position.epoch and kafka.identity and not position.known:
        if kind is IMPORTED_EVENT and not any(kafka.end.values()):
            return  # its worker starts with the first message, and records the topic then
        yield Finding(
            subject=f"topic {topic}",
            problem=f"is not the topic that table {table} was read from "
            "(recreated, or another cluster)",
            meaning="A worker starts a new epoch and reads the topic from its first message, or "
            "refuses to when this is another cluster. Unread messages of the old topic are lost.",
            remedy="read logs/worker-1.log in the data folder: its last lines say which, and "
            "what to set",
        )
        return
    for partition, offset in sorted(position.next.items()):
        end, first = kafka.end.get(partition, 0), kafka.first.get(partition, 0)
        partition_name = f"{topic}/{partition}"
        if offset > end:
            yield Finding(
                subject=partition_name,
                problem=f"ends at offset {end}, but table {table} has read up to {offset}",
                meaning="The topic lost messages or was recreated: new messages would count as "
                "already stored. The worker ends with exit code 78.",
                remedy=f"restart with TIDEMARK_INGEST_EPOCH={max(position.epoch, 1) + 1}",
            )
        elif offset < first:
            yield Finding(
                subject=partition_name,
                problem=f"starts at offset {first}, but table {table} is only at offset {offset}",
                meaning=f"{first - offset} messages were deleted by Kafka (its retention) before "
                "they were stored. The worker records them as lost in the quarantine and "
                "continues.",
                remedy="start the workers; to prevent it, raise TIDEMARK_RETENTION_HOURS",
            )


def _require_running_kafka(settings: Settings) -> None:
    if not settings.kafka and read_processes_file(settings.data) is None:
        raise CheckSkipped("the broker is part of `tidemark up`, which is not running")


def _unreachable_finding(settings: Settings, reason: str) -> Finding:
    return Finding(
        subject=f"{AWAY}{settings.brokers}",
        problem=f"does not respond: {reason}",
        meaning="No events are accepted: collectors respond with 503 until it is back.",
        remedy="start it, or correct TIDEMARK_KAFKA; for the broker of `tidemark up` see "
        "logs/broker.log",
    )


def _is_away(finding: Finding) -> bool:
    """A broker ends when the disk is full."""
    return finding.subject.startswith(AWAY)


TOPICS_CHECK = Check(
    "topics",
    "all topics exist in Kafka",
    find_missing_topics,
    repair_missing_topics,
    of_full_disk=_is_away,
)
TOPIC_CONFIGURATION_CHECK = Check(
    "topic-configuration",
    "topics keep messages until they are stored",
    find_unsafe_topics,
    of_full_disk=_is_away,
)
POSITIONS_CHECK = Check(
    "positions",
    "offsets of the tables match those in Kafka",
    find_offset_mismatches,
    of_full_disk=_is_away,
    needs_store=True,
)
