"""Sealed items sent for sure: the receipt of what Kafka has, or the failure that says otherwise."""

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.envelopes import EncodedRequest
from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus, PendingDelivery
from ingest.publishing.recent_requests import RecentRequests, record_published
from schemas.errors import OutcomeUnknown, Unavailable
from schemas.receipts import RECEIPT_FORMAT, Receipt, ReceiptKey

NOT_SENT_MESSAGE = "Kafka took too long; nothing was taken"
OUTCOME_UNKNOWN_MESSAGE = (
    "Kafka did not acknowledge in time; whether the items were stored is not known"
)

RECEIPT_HEADER = b"tidemark-receipt"
"""Header of answers that have no JSON body."""


class Producer(Protocol):
    """Where sealed requests go."""

    @property
    def unavailable_reason(self) -> str | None:
        """Why nothing is taken; None when all is well."""

    def enqueue(
        self, topic: str, place: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Unavailable when nothing is taken; else what becomes of it, in bounded time."""


class Publisher(Struct, frozen=True):
    """Publishes requests to Kafka, counts what is acknowledged, and remembers it for `/debug`."""

    producer: Producer
    acknowledged_counter: AcknowledgedCounter
    epoch: int = 1
    """Generation of the topics that offsets belong to; part of every receipt."""
    recent_requests: RecentRequests = msgspec.field(default_factory=RecentRequests)
    """The last requests of each website."""

    async def publish(self, topic: str, request: EncodedRequest, receipt_key: ReceiptKey) -> str:
        """The receipt, once Kafka has acknowledged; else Unavailable or OutcomeUnknown."""
        delivery = self.producer.enqueue(
            topic, request.partition_key, request.envelopes, request.count
        )
        report = require_acknowledged(await delivery.report)
        self.acknowledged_counter.add_request(topic, request)
        receipt = receipt_key.written(
            Receipt(
                RECEIPT_FORMAT,
                topic,
                self.epoch,
                report.partition,
                report.offset,
                delivery.first_position,
                request.count,
                request.received_ms,
                request.owner_id,
                request.indexes,
                report.topic_id,
            )
        )
        record_published(self.recent_requests, topic, request, receipt)
        return receipt


def require_acknowledged(answer: DeliveryReport) -> DeliveryReport:
    """The answer, when it says that Kafka has it."""
    if answer.status is DeliveryStatus.NOT_SENT:
        raise Unavailable(NOT_SENT_MESSAGE)
    if answer.status is DeliveryStatus.UNKNOWN:
        raise OutcomeUnknown(OUTCOME_UNKNOWN_MESSAGE)
    return answer
