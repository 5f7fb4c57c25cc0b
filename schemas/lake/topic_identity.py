"""Topic ids: tell a recreated topic from its predecessor by Kafka's topic UUID (Metadata API v10).

A recreated topic has the same name and starts at offset 0, but has another topic id. Kafka 2.8
and later return it (Metadata version 10); aiokafka does not support that version, so the request is
built here from its protocol types. For older Kafka the cluster id is used instead.
"""

import asyncio
import base64
import logging
from collections.abc import Iterable, Mapping
from functools import cache
from io import BytesIO

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import IncompatibleBrokerVersion, KafkaError, NodeNotReadyError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.types import (
    AbstractType,
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)
from msgspec import Struct

from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

METADATA_API_KEY = 3
NO_ID = bytes(16)


class TopicIdentity(Struct, frozen=True):
    """A topic as Kafka identifies it."""

    id: str
    """Topic id in base64, as Kafka's tools print it; the cluster id where topics have none."""
    cluster: str


class Uuid(AbstractType[bytes]):  # type: ignore[misc]
    """16 bytes."""

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value

    @classmethod
    def decode(cls, data: BytesIO) -> bytes:
        return data.read(16)


TEXT = CompactString("utf-8")
TAGS = ("tags", TaggedFields)
PARTITION = Schema(
    ("error_code", Int16),
    ("partition", Int32),
    ("leader", Int32),
    ("leader_epoch", Int32),
    ("replicas", CompactArray(Int32)),
    ("in_sync", CompactArray(Int32)),
    ("offline", CompactArray(Int32)),
    TAGS,
)
TOPIC = Schema(
    ("error_code", Int16),
    ("name", TEXT),
    ("topic_id", Uuid),
    ("internal", Boolean),
    ("partitions", CompactArray(PARTITION)),
    ("operations", Int32),
    TAGS,
)
BROKER = Schema(("node_id", Int32), ("host", TEXT), ("port", Int32), ("rack", TEXT), TAGS)


class MetadataResponse10(Response):  # type: ignore[misc]
    """Response with brokers and topics, including topic ids."""

    API_KEY = METADATA_API_KEY
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", CompactArray(BROKER)),
        ("cluster_id", TEXT),
        ("controller_id", Int32),
        ("topics", CompactArray(TOPIC)),
        ("cluster_operations", Int32),
        TAGS,
    )


class MetadataRequest10(RequestStruct):  # type: ignore[misc]
    """Request for topics by name; creates none."""

    FLEXIBLE_VERSION = True
    API_KEY = METADATA_API_KEY
    API_VERSION = 10
    RESPONSE_TYPE = MetadataResponse10
    SCHEMA = Schema(
        ("topics", CompactArray(Schema(("topic_id", Uuid), ("name", TEXT), TAGS))),
        ("create", Boolean),
        ("cluster_operations", Boolean),
        ("topic_operations", Boolean),
        TAGS,
    )


class IdentityRequest(Request[MetadataRequest10]):  # type: ignore[misc]
    """The request in the form that aiokafka's client sends."""

    API_KEY = METADATA_API_KEY

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics: list[object] = [(NO_ID, topic, {}) for topic in topics]

    def build(self, request_struct_class: type[MetadataRequest10]) -> MetadataRequest10:
        return request_struct_class(self._topics, False, False, False, {})


async def fetch_topic_identities(
    client: AIOKafkaClient, topics: Iterable[str]
) -> Mapping[str, TopicIdentity]:
    """Identities of the topics that exist; KafkaError when Kafka does not respond."""
    topics = list(topics)
    node = client.get_random_node()
    if node is None:
        raise NodeNotReadyError("no broker is known")
    try:
        metadata = await client.send(node, IdentityRequest(topics))
    except (NotImplementedError, IncompatibleBrokerVersion):
        # Kafka before 2.8 has no topic ids: aiokafka raises NotImplementedError where the broker
        # knows only older versions of a request. The id of its cluster stands in for them:
        # another cluster is noticed, a topic that was recreated within the cluster is not.
        _log_fallback()
        return await _identities_by_cluster(client, node, topics)
    cluster = metadata.cluster_id or ""
    topic_ids = {name: topic_id for error, name, topic_id, *_ in metadata.topics if not error}
    return {
        name: TopicIdentity(cluster if topic_id == NO_ID else _encode_uuid(topic_id), cluster)
        for name, topic_id in topic_ids.items()
        if topic_id != NO_ID or cluster
    }


@cache
def _log_fallback() -> None:
    """Once for each process: topic identities are fetched again and again."""
    log.warning("this Kafka has no topic ids (2.8 and later do); its cluster id is used instead")


async def _identities_by_cluster(
    client: AIOKafkaClient, node: int, topics: list[str]
) -> Mapping[str, TopicIdentity]:
    metadata = await client.send(node, MetadataRequest(topics))
    cluster = getattr(metadata, "cluster_id", None) or ""
    existing = {topic[1] for topic in metadata.topics if not topic[0]}
    return {name: TopicIdentity(cluster, cluster) for name in existing if cluster}


def _encode_uuid(topic_id: bytes) -> str:
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


class TopicIdentityClient:
    """Fetches topic identities with its own Kafka client, replaced after errors; one event loop."""

    def __init__(self, settings: Settings, request_ms: int = 2_000) -> None:
        self._settings = settings
        self._request_ms = request_ms
        self._client: AIOKafkaClient | None = None
        self._connecting = asyncio.Lock()

    async def fetch(self, topics: Iterable[str]) -> Mapping[str, TopicIdentity]:
        """Identities of the topics that exist; KafkaError when Kafka does not respond."""
        try:
            return await fetch_topic_identities(await self._connected_client(), topics)
        except (KafkaError, OSError, TimeoutError) as error:
            await self.close()
            raise error if isinstance(error, KafkaError) else KafkaError(repr(error)) from error

    async def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected_client(self) -> AIOKafkaClient:
        async with self._connecting:
            if self._client is None:
                client = AIOKafkaClient(
                    **client_arguments(self._settings), request_timeout_ms=self._request_ms
                )
                await client.bootstrap()
                self._client = client
            return self._client
