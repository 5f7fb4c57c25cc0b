"""The gauges of the producer."""

from ingest.publishing.producer import KafkaProducer, add_producer_gauges
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import REGISTRY


def test_a_producer_without_a_connection_rejects_and_holds_nothing() -> None:
    producer = KafkaProducer(Settings(), ["events"])
    add_producer_gauges(producer)

    producer.in_flight.bytes = 300

    assert REGISTRY.get_sample_value("tidemark_in_flight_bytes") == 300
    assert REGISTRY.get_sample_value("tidemark_rejecting_partitions") == 0
    assert REGISTRY.get_sample_value("tidemark_kafka_available") == 0
    assert REGISTRY.get_sample_value("tidemark_producers_replaced") == 0
