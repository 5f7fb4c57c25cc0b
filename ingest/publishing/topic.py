"""Topic: the partition queues of one topic, and what its messages may have."""

from ingest.publishing.kafka_connection import MAX_MESSAGE_BYTES, DeliveryError
from ingest.publishing.partition_queue import PartitionQueue
from schemas.kafka.topic_configuration import MESSAGE_SIZE, Configuration, refusal

FRAMING_BYTES = 64 * 1024
"""Part of a message that is for the framing of chunk and Kafka."""


class Topic:
    """A topic as this collector sends to it."""

    def __init__(self, name: str, chunk_bytes: int) -> None:
        self.name = name
        """Its name in Kafka, which has the topic prefix."""
        self.id = ""
        """Kafka's topic id, if known."""
        self.queues: list[PartitionQueue] = []
        """By partition."""
        self._wanted_chunk_bytes = chunk_bytes
        self.limit_messages(MAX_MESSAGE_BYTES)

    def configure(self, configuration: Configuration) -> None:
        """Respect its configuration in Kafka; DeliveryError if nothing may be sent to it."""
        if problem := refusal(configuration):
            raise DeliveryError(f"topic {self.name} {problem}")
        message_bytes = int(configuration.get(MESSAGE_SIZE, MAX_MESSAGE_BYTES))
        self.limit_messages(min(message_bytes, MAX_MESSAGE_BYTES))

    def limit_messages(self, message_bytes: int) -> None:
        """Let requests and chunks fit into messages of so many bytes, from now on."""
        self.request_bytes = max(message_bytes - FRAMING_BYTES, message_bytes // 2)
        """Maximum size of one request."""
        self.chunk_bytes = min(self._wanted_chunk_bytes, self.request_bytes)
        """Bytes after which a chunk takes no more requests."""
        for queue in self.queues:
            queue.chunk_bytes = self.chunk_bytes
