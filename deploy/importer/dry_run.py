"""What the collector would say to items, without sending them."""

from collections.abc import Callable, Sequence

from deploy.importer.sender import Bad, Reply
from ingest.decoding.decoder import Decoder, Rejected
from ingest.decoding.ndjson import decoded
from ingest.endpoints.import_events import timely
from schemas.errors import NoneAccepted
from schemas.kinds import HISTORY
from schemas.registry import Website
from schemas.registry.validation import new_import
from schemas.runtime.clock import now_ms


def judge_for(website: Website) -> Callable[[list[bytes]], Reply]:
    """Something that answers like the collector, for one website."""
    decoder, would_be = Decoder(HISTORY), new_import(website, "dry run", now_ms())

    def judge(items: list[bytes]) -> Reply:
        try:
            accepted = timely(decoded(decoder, b"\n".join(items)), would_be, now_ms())
        except NoneAccepted as none:
            return Reply(0, _bad(none.more["rejected"]))
        return Reply(len(accepted.items), _bad(accepted.rejected))

    return judge


def _bad(rejected: Sequence[Rejected]) -> tuple[Bad, ...]:
    return tuple(Bad(each.index, each.message) for each in rejected)
