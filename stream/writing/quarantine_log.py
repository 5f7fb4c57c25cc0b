"""Log lines about quarantined items, with the ids of the requests that they came with."""

import logging
from collections import Counter
from collections.abc import Sequence

from stream.rows.kafka_message import KafkaMessage
from stream.rows.quarantine import QuarantineEntry

log = logging.getLogger(__name__)


def log_quarantined(
    topic: str, entries: Sequence[QuarantineEntry], messages: Sequence[KafkaMessage]
) -> None:
    """One line for each Kafka message with quarantined items.

    Only the kind of the first error: the rest of its text may hold what visitors sent, and is in
    the table.
    """
    if not entries:
        return
    ids = {(m.partition, m.offset): m.request_ids for m in messages if m.request_ids}
    items = Counter((entry.partition, entry.offset) for entry in entries)
    for entry in {(entry.partition, entry.offset): entry for entry in reversed(entries)}.values():
        at = entry.partition, entry.offset
        fields = {
            "topic": topic,
            "partition": entry.partition,
            "offset": entry.offset,
            "items": items[at],
            "stage": entry.stage.value,
            "error": entry.reason.partition(":")[0],
        }
        if at in ids:
            fields["request_ids"] = ids[at].decode(errors="replace")
        log.warning("items quarantined", extra=fields)
