"""Batches whose messages come from several topic partitions."""

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.rows.kafka_message import KafkaMessage
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named

BATCHES = 12
PARTITIONS = 3


def a_writer(config: Settings) -> BatchWriter:
    return BatchWriter(config, CUSTOM_EVENT, Lookups())


def one_of_each(offset: int, partitions: range) -> list[KafkaMessage]:
    """A batch with one event of each partition."""
    return [a_message(offset, named("a"), partition=partition) for partition in partitions]


def fill(config: Settings) -> None:
    """Batches of one event each, in turn of several partitions, and one garbage message."""
    writer = a_writer(config)
    for number in range(BATCHES):
        offset, partition = divmod(number, PARTITIONS)
        writer.write([a_message(offset, named("a"), partition=partition)])
    writer.write([a_message(0, partition=PARTITIONS, body=b"garbage")])
