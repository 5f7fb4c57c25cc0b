"""Which worker reads which topic partitions now, on any machine: Kafka's view of the group."""

import asyncio
from collections.abc import Mapping, Sequence

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import KafkaError
from msgspec import Struct

from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

TIMEOUT_SECONDS = 5.0

TopicPartitions = frozenset[tuple[str, int]]


class GroupMember(Struct, frozen=True):
    """One worker in the consumer group."""

    name: str
    """Its process name, as far as its client id tells."""
    host: str
    partitions: TopicPartitions


async def group_members(settings: Settings) -> Sequence[GroupMember]:
    """The members of the workers' group; KafkaError when Kafka does not respond."""
    admin = AIOKafkaAdminClient(**client_arguments(settings))
    try:
        await admin.start()
        responses = await admin.describe_consumer_groups([settings.consumer_group])
    finally:
        await admin.close()
    found = [
        GroupMember(client.rpartition("/")[2], host.lstrip("/"), _partitions(assignment))
        for response in responses
        for group in response.groups
        for _, client, host, _, assignment in group[5]
    ]
    return sorted(found, key=lambda member: (member.host, member.name))


def members_or_none(settings: Settings) -> Sequence[GroupMember] | None:
    """The members; None while Kafka does not respond."""
    try:
        return asyncio.run(asyncio.wait_for(group_members(settings), TIMEOUT_SECONDS))
    except (KafkaError, OSError, TimeoutError):
        return None


def holders(members: Sequence[GroupMember]) -> Mapping[tuple[str, int], GroupMember]:
    """The member that reads each topic partition."""
    return {at: member for member in members for at in member.partitions}


def _partitions(assignment: bytes) -> TopicPartitions:
    if not assignment:  # a member that joins, while partitions are assigned
        return frozenset()
    decoded = ConsumerProtocolMemberAssignment.decode(assignment)
    return frozenset((topic, number) for topic, numbers in decoded.assignment for number in numbers)
