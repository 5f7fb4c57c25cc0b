"""Replicas and configuration of topics that exist, whoever created them."""

from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from msgspec import Struct

from deploy.local.kafka.topics import with_admin_client
from schemas.kafka.topic_configuration import CHECKED, IN_SYNC, Configuration
from schemas.runtime.settings import Settings

NO_LEADER = -1


class ExistingTopic(Struct, frozen=True):
    """A topic as Kafka has it."""

    replicas: int
    """Of the partition that has the fewest."""
    configuration: Configuration
    partitions: int = 0
    without_leader: tuple[int, ...] = ()
    """Partitions that nobody can write to or read from."""
    below_min_in_sync: tuple[int, ...] = ()
    """Partitions with fewer replicas in sync than `min.insync.replicas`: they take no message."""
    out_of_sync: tuple[int, ...] = ()
    """Partitions of which some replica is not in sync."""


def existing_topics(
    settings: Settings, names: Sequence[str], seconds: float = 10.0
) -> Mapping[str, ExistingTopic]:
    """Topics that exist, by name; KafkaUnavailable without Kafka."""
    return with_admin_client(settings, lambda admin: _existing_topics(admin, names), seconds)


async def _existing_topics(
    admin: AIOKafkaAdminClient, names: Sequence[str]
) -> Mapping[str, ExistingTopic]:
    described = await admin.describe_topics(list(names))
    partitions = {topic["topic"]: topic["partitions"] for topic in described if topic["partitions"]}
    configurations = await _configurations(admin, list(partitions))
    return {
        name: _existing_topic(found, configurations.get(name, {}))
        for name, found in partitions.items()
    }


def _existing_topic(
    partitions: Sequence[Mapping[str, Any]], configuration: Configuration
) -> ExistingTopic:
    needed = int(configuration.get(IN_SYNC, 1))
    by_number = sorted(partitions, key=lambda partition: int(partition["partition"]))
    return ExistingTopic(
        replicas=min(len(partition["replicas"]) for partition in partitions),
        configuration=configuration,
        partitions=len(partitions),
        without_leader=tuple(one["partition"] for one in by_number if one["leader"] == NO_LEADER),
        below_min_in_sync=tuple(one["partition"] for one in by_number if len(one["isr"]) < needed),
        out_of_sync=tuple(
            one["partition"] for one in by_number if len(one["isr"]) < len(one["replicas"])
        ),
    )


async def _configurations(
    admin: AIOKafkaAdminClient, names: Sequence[str]
) -> Mapping[str, Configuration]:
    if not names:
        return {}
    resources = [
        ConfigResource(ConfigResourceType.TOPIC, name, dict.fromkeys(CHECKED)) for name in names
    ]
    return {
        name: {key: value for key, value, *_ in entries}
        for response in await admin.describe_configs(resources)
        for error, _message, _kind, name, entries in response.resources
        if not error
    }
