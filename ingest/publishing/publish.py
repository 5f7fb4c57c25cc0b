"""Sealed items sent for sure: the receipt of what Kafka has, or the failure that says otherwise."""

from ingest.dependencies import Desk
from ingest.endpoints.debug_log import note
from ingest.publishing.envelopes import Sealed
from ingest.publishing.partition_queue import Answer, Outcome
from schemas.errors import Unavailable, Unconfirmed
from schemas.receipts import FORMAT, Receipt

NOT_SENT = "Kafka took too long; nothing was taken"
UNKNOWN = "Kafka did not acknowledge in time; whether the items were stored is not known"

RECEIPT = b"tidemark-receipt"
"""Header of answers that have no JSON body."""


async def send_surely(desk: Desk, topic: str, sealed: Sealed) -> str:
    """The receipt, once Kafka has acknowledged; Unavailable or Unconfirmed."""
    ticket = desk.outbox.put(topic, sealed.place, sealed.envelopes, sealed.count)
    kept = confirmed(await ticket.answered)
    desk.acknowledged.add_sealed(topic, sealed)
    receipt = desk.registry.snapshot.receipts.written(
        Receipt(
            FORMAT,
            topic,
            desk.epoch,
            kept.partition,
            kept.offset,
            ticket.first,
            sealed.count,
            sealed.received_ms,
            sealed.owner,
            sealed.places,
            kept.topic_id,
        )
    )
    note(desk.recent, topic, sealed, receipt)
    return receipt


def confirmed(answer: Answer) -> Answer:
    """The answer, when it says that Kafka has it."""
    if answer.outcome is Outcome.NOT_SENT:
        raise Unavailable(NOT_SENT)
    if answer.outcome is Outcome.UNKNOWN:
        raise Unconfirmed(UNKNOWN)
    return answer
