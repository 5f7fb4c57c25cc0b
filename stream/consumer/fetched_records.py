"""Records of one fetch as one Faust message, because Faust takes 100 to 200 µs a message.

A partition's records of a fetch travel through Faust as the body of the last of them. With many
small chunks in a topic that is one Faust message for each fetch and partition.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from schemas.kafka.request_ids import request_ids
from schemas.kafka.trace_headers import spans_of
from stream.rows.kafka_message import KafkaMessage, open_message


class FetchedRecord(Struct, frozen=True, gc=False):
    """What is needed of one Kafka record."""

    offset: int
    timestamp_ms: int
    body: bytes
    request_ids: bytes = b""
    spans: bytes = b""


class FetchedRecords(bytes):
    """The body of a Faust message that stands for several records; empty, as Faust needs bytes."""

    records: Sequence[FetchedRecord]


def as_one(records: Sequence[Any]) -> Any:
    """The last of a partition's records (of aiokafka), with all of them as its body."""
    body = FetchedRecords()
    body.records = [
        FetchedRecord(
            r.offset, r.timestamp, r.value or b"", request_ids(r.headers), spans_of(r.headers)
        )
        for r in records
    ]
    return dataclasses.replace(records[-1], value=body)


def messages(
    partition: int, body: FetchedRecords, acknowledge: Callable[[], Any]
) -> Iterator[KafkaMessage]:
    """The messages with their chunks decoded; the last one acknowledges all."""
    last = len(body.records) - 1
    for number, record in enumerate(body.records):
        acknowledge_it = acknowledge if number == last else nothing
        yield open_message(
            partition,
            record.offset,
            record.timestamp_ms,
            record.body,
            acknowledge_it,
            record.request_ids,
            record.spans,
        )


def nothing() -> None:
    """Acknowledge nothing: a later message does."""
