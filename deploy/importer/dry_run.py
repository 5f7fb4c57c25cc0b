"""Dry run: validates items as the collector would, without sending."""

from collections.abc import Callable, Sequence

from deploy.importer.sender import CollectorReply, ItemRejection
from ingest.decoding.decoder import Decoder, RejectedItem
from ingest.decoding.ndjson import decode_body
from ingest.endpoints.import_events import reject_invalid
from schemas.errors import NoneAccepted
from schemas.kinds import IMPORTED_EVENT
from schemas.registry import Website
from schemas.registry.validation import new_import
from schemas.runtime.clock import now_ms


def dry_run_sender(website: Website) -> Callable[[list[bytes]], CollectorReply]:
    """A send function that validates items like the collector, for one website."""
    decoder, record = Decoder(IMPORTED_EVENT), new_import(website, "dry run", now_ms())

    def validate(items: list[bytes]) -> CollectorReply:
        try:
            accepted = reject_invalid(decode_body(decoder, b"\n".join(items)), record, now_ms())
        except NoneAccepted as none:
            return CollectorReply(0, _rejected_items(none.details["rejected"]))
        return CollectorReply(len(accepted.items), _rejected_items(accepted.rejected))

    return validate


def _rejected_items(rejected: Sequence[RejectedItem]) -> tuple[ItemRejection, ...]:
    return tuple(
        ItemRejection(rejected_item.index, rejected_item.message) for rejected_item in rejected
    )
