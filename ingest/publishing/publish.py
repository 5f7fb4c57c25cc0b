"""Sealed items sent for sure: the receipt of what Kafka has, or the failure that says otherwise."""

from ingest.dependencies import Dependencies
from ingest.endpoints.debug_log import record_published
from ingest.publishing.envelopes import EncodedRequest
from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus
from schemas.errors import OutcomeUnknown, Unavailable
from schemas.receipts import RECEIPT_FORMAT, Receipt

NOT_SENT_MESSAGE = "Kafka took too long; nothing was taken"
OUTCOME_UNKNOWN_MESSAGE = (
    "Kafka did not acknowledge in time; whether the items were stored is not known"
)

RECEIPT_HEADER = b"tidemark-receipt"
"""Header of answers that have no JSON body."""


async def publish(desk: Dependencies, topic: str, sealed: EncodedRequest) -> str:
    """The receipt, once Kafka has acknowledged; Unavailable or Unconfirmed."""
    ticket = desk.producer.enqueue(topic, sealed.partition_key, sealed.envelopes, sealed.count)
    kept = require_acknowledged(await ticket.report)
    desk.acknowledged_counter.add_request(topic, sealed)
    receipt = desk.registry.snapshot.receipts.written(
        Receipt(
            RECEIPT_FORMAT,
            topic,
            desk.epoch,
            kept.partition,
            kept.offset,
            ticket.first_position,
            sealed.count,
            sealed.received_ms,
            sealed.owner_id,
            sealed.indexes,
            kept.topic_id,
        )
    )
    record_published(desk.recent_requests, topic, sealed, receipt)
    return receipt


def require_acknowledged(answer: DeliveryReport) -> DeliveryReport:
    """The answer, when it says that Kafka has it."""
    if answer.status is DeliveryStatus.NOT_SENT:
        raise Unavailable(NOT_SENT_MESSAGE)
    if answer.status is DeliveryStatus.UNKNOWN:
        raise OutcomeUnknown(OUTCOME_UNKNOWN_MESSAGE)
    return answer
