"""Gauges of the producer: what waits for Kafka, and what is rejected."""

from ingest.publishing.producer import KafkaProducer
from schemas.telemetry.instruments import gauge


def add_producer_gauges(producer: KafkaProducer) -> None:
    """Add the gauges of the one producer of this process to its metrics."""

    def rejecting() -> int:
        queues = list(producer.queues())
        return len(queues) if producer.unavailable_reason else sum(q.closed for q in queues)

    gauge(
        "tidemark_in_flight_bytes",
        "Bytes that are queued for Kafka or sent, and not acknowledged",
        lambda: producer.in_flight.bytes,
    )
    gauge(
        "tidemark_rejecting_partitions",
        "Topic partitions that reject requests, because Kafka does not acknowledge",
        rejecting,
    )
    gauge(
        "tidemark_kafka_available",
        "1 while a Kafka broker responds to this collector",
        lambda: producer.unavailable_reason is None,
    )
    gauge(
        "tidemark_producers_replaced",
        "Kafka connections that were replaced after a failed delivery",
        lambda: producer.counts.producers_replaced,
    )
