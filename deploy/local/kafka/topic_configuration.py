"""Replicas and configuration of topics that exist, whoever created them."""

from collections.abc import Mapping, Sequence

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from msgspec import Struct

from deploy.local.kafka.topics import with_admin_client
from schemas.kafka.topic_configuration import CHECKED, Configuration
from schemas.runtime.settings import Settings


class ExistingTopic(Struct, frozen=True):
    """A topic as Kafka has it."""

    replicas: int
    """Of the partition that has the fewest."""
    configuration: Configuration


def existing_topics(
    settings: Settings, names: Sequence[str], seconds: float = 10.0
) -> Mapping[str, ExistingTopic]:
    """Topics that exist, by name; KafkaUnavailable without Kafka."""
    return with_admin_client(settings, lambda admin: _existing_topics(admin, names), seconds)


async def _existing_topics(
    admin: AIOKafkaAdminClient, names: Sequence[str]
) -> Mapping[str, ExistingTopic]:
    described = await admin.describe_topics(list(names))
    replicas = {
        topic["topic"]: min(len(partition["replicas"]) for partition in topic["partitions"])
        for topic in described
        if topic["partitions"]
    }
    configurations = await _configurations(admin, list(replicas))
    return {
        name: ExistingTopic(count, configurations.get(name, {})) for name, count in replicas.items()
    }


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
