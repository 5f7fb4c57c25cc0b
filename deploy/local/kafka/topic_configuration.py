"""Brokers that answer; replicas and configuration of topics that exist, whoever created them."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin.config_resource import ConfigResourceType
from aiokafka.conn import AIOKafkaConnection, collect_hosts, create_conn
from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.metadata import MetadataRequest
from msgspec import Struct

from deploy.local.kafka.topics import answer_of
from schemas.kafka.topic_configuration import CHECKED, IN_SYNC, Configuration
from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

ANSWER_MS = 1_500
"""Within which a broker has to answer."""

Address = tuple[str, int]


@asynccontextmanager
async def any_broker(settings: Settings) -> AsyncIterator[AIOKafkaConnection]:
    """A connection to a broker that answers; KafkaConnectionError when none does.

    Clients send each request to some broker by chance, whether it answers or not.
    """
    for host, port, _family in collect_hosts(client_arguments(settings)["bootstrap_servers"]):
        if (connection := await _connected(settings, host, port)) is not None:
            try:
                yield connection
            finally:
                connection.close()
            return
    raise KafkaConnectionError("no broker answers")


async def silent_brokers(settings: Settings, brokers: Mapping[int, Address]) -> frozenset[int]:
    """The brokers, by number, of which none of our clients would get an answer."""
    answers = await asyncio.gather(*(_answers(settings, *each) for each in brokers.values()))
    return frozenset(
        number for number, answered in zip(brokers, answers, strict=True) if not answered
    )


async def _answers(settings: Settings, host: str, port: int) -> bool:
    if (connection := await _connected(settings, host, port)) is None:
        return False
    connection.close()
    return True


async def _connected(settings: Settings, host: str, port: int) -> AIOKafkaConnection | None:
    arguments = client_arguments(settings)
    del arguments["bootstrap_servers"]
    try:
        return await create_conn(host, port, request_timeout_ms=ANSWER_MS, **arguments)
    except (KafkaError, OSError, TimeoutError):
        return None


NO_LEADER = -1


class ExistingTopic(Struct, frozen=True):
    """A topic as Kafka has it, without the brokers that do not answer."""

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

    @property
    def rejecting(self) -> frozenset[int]:
        """Partitions that take no message."""
        return frozenset((*self.without_leader, *self.below_min_in_sync))


class KafkaState(Struct, frozen=True):
    """Topics that exist, by name, and the brokers that have replicas of them and do not answer."""

    topics: Mapping[str, ExistingTopic]
    away: Sequence[str]
    """The number of each, with its address where Kafka still tells it."""


def kafka_state(settings: Settings, names: Sequence[str], seconds: float = 10.0) -> KafkaState:
    """The topics of these names that exist, and their brokers; KafkaUnavailable without Kafka."""
    return answer_of(settings, _kafka_state(settings, names), seconds)


async def _kafka_state(settings: Settings, names: Sequence[str]) -> KafkaState:
    async with any_broker(settings) as broker:
        described = (await broker.send(MetadataRequest(list(names)))).to_object()
        found = described["topics"]
        partitions = {topic["topic"]: topic["partitions"] for topic in found if topic["partitions"]}
        configurations = await _configurations(broker, list(partitions))
    addresses = {node["node_id"]: (node["host"], node["port"]) for node in described["brokers"]}
    answering = addresses.keys() - await silent_brokers(settings, addresses)
    topics = {
        name: _existing_topic(found, configurations.get(name, {}), answering)
        for name, found in partitions.items()
    }
    having = {node for found in partitions.values() for one in found for node in one["replicas"]}
    return KafkaState(topics, [_named(node, addresses) for node in sorted(having - answering)])


def _named(node: int, addresses: Mapping[int, Address]) -> str:
    if node not in addresses:
        return str(node)
    host, port = addresses[node]
    return f"{node} ({host}:{port})"


def _existing_topic(
    described: Sequence[Mapping[str, Any]], configuration: Configuration, answering: Set[int]
) -> ExistingTopic:
    needed = int(configuration.get(IN_SYNC, 1))
    partitions = [_of_answering(partition, answering) for partition in described]
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


def _of_answering(partition: Mapping[str, Any], answering: Set[int]) -> Mapping[str, Any]:
    """The partition without leader and replicas in sync that do not answer."""
    leader = partition["leader"] if partition["leader"] in answering else NO_LEADER
    return {**partition, "leader": leader, "isr": [n for n in partition["isr"] if n in answering]}


async def _configurations(
    broker: AIOKafkaConnection, names: Sequence[str]
) -> Mapping[str, Configuration]:
    if not names:
        return {}
    resources = [(ConfigResourceType.TOPIC, name, list(CHECKED)) for name in names]
    response = await broker.send(DescribeConfigsRequest(resources))
    return {
        name: {key: value for key, value, *_ in entries}
        for error, _message, _kind, name, entries in response.resources
        if not error
    }
