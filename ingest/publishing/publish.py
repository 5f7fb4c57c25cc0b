"""Publishes a request to Kafka, waits for the acknowledgement and returns the receipt."""

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
from schemas.telemetry.instruments import ITEMS

NOT_SENT_MESSAGE = "Kafka did not respond in time; nothing was accepted. Retry later"
OUTCOME_UNKNOWN_MESSAGE = (
    "Kafka did not acknowledge in time; the items may or may not be stored. "
    "Retry with the same eventId"
)

RECEIPT_HEADER = b"tidemark-receipt"
"""Header with the receipt, for responses without a JSON body."""


class Producer(Protocol):
    """Sends encoded requests to Kafka."""

    @property
    def unavailable_reason(self) -> str | None:
        """Why all requests are rejected; None when connected."""

    @property
    def partition_problem(self) -> str | None:
        """Which part of the requests is rejected; None when none is."""

    def enqueue(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Queue a request; Unavailable if it is rejected, else a report in bounded time."""


class Publisher(Struct, frozen=True):
    """Publishes requests to Kafka, counts what is acknowledged, and remembers it for `/debug`."""

    producer: Producer
    acknowledged_counter: AcknowledgedCounter
    epoch: int = 1
    """Topic epoch that offsets are counted in; part of every receipt."""
    recent_requests: RecentRequests = msgspec.field(default_factory=RecentRequests)
    """The last requests of each website."""

    async def publish(self, topic: str, request: EncodedRequest, receipt_key: ReceiptKey) -> str:
        """The receipt, once Kafka has acknowledged; else Unavailable or OutcomeUnknown."""
        delivery = self.enqueue(topic, request)
        return self.acknowledged(topic, request, delivery, await delivery.report, receipt_key)

    def enqueue(self, topic: str, request: EncodedRequest) -> PendingDelivery:
        """Queue a request; Unavailable or PayloadTooLarge if it is rejected."""
        return self.producer.enqueue(topic, request.partition_key, request.envelopes, request.count)

    def acknowledged(
        self,
        topic: str,
        request: EncodedRequest,
        delivery: PendingDelivery,
        report: DeliveryReport,
        receipt_key: ReceiptKey,
    ) -> str:
        """Count and record a request that Kafka acknowledged, or that is spooled; its receipt.

        Else Unavailable or OutcomeUnknown.
        """
        if report.status is DeliveryStatus.ACKNOWLEDGED:
            ITEMS.add(topic, "acknowledged", request.count)
            self.acknowledged_counter.add_request(topic, request)
        elif report.status is DeliveryStatus.SPOOLED:
            ITEMS.add(topic, "spooled", request.count)  # and acknowledged once Kafka has it
        else:
            ITEMS.add(topic, "failed", request.count)
            require_acknowledged(report)
        receipt = receipt_key.sign(
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
                delivery.spool_id,
                request.dropped,
            )
        )
        record_published(self.recent_requests, topic, request, receipt)
        return receipt


def require_acknowledged(report: DeliveryReport) -> DeliveryReport:
    """The report, if Kafka or the spool has the items; else Unavailable or OutcomeUnknown."""
    if report.status is DeliveryStatus.NOT_SENT:
        raise Unavailable(NOT_SENT_MESSAGE)
    if report.status is DeliveryStatus.UNKNOWN:
        raise OutcomeUnknown(OUTCOME_UNKNOWN_MESSAGE)
    return report
