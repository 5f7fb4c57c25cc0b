"""Whether an API key came with it, and the user agent and client hints as JSON.

They are stored so that newer rules can be applied to old rows.
"""

from operator import attrgetter

import msgspec
from msgspec import Struct

from schemas.envelope import ENRICHMENT_HEADERS, Envelope
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.row_batch import RowBatch

KEPT_HEADERS = tuple(
    name for name in ENRICHMENT_HEADERS if name.startswith("sec-") or name == "purpose"
)
"""Client hints and `purpose`; other headers have columns of their own or are not stored."""


class StoredSender(Struct, frozen=True, omit_defaults=True):
    """The part of an envelope from which browser, device and bot are derived."""

    user_agent: str = ""
    trusted: bool = False
    headers: dict[str, str] = {}
    names_visitor: bool | None = None


@enrichment_step()
def put_sender(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Whether an API key was sent; user agent and client hints, for re-enrichment."""
    if rows.has_column("sender"):
        rows.columns["sender"] = rows.per_sender(sender_json)
    if rows.has_column("trusted"):
        rows.columns["trusted"] = rows.per_sender(attrgetter("trusted"))


def sender_json(envelope: Envelope) -> str | None:
    """The sender as JSON; None without any fact."""
    headers = envelope.headers
    kept = {name: headers[name] for name in KEPT_HEADERS if name in headers} if headers else {}
    sender = StoredSender(envelope.user_agent, envelope.trusted, kept, envelope.names_visitor)
    return None if sender == NO_SENDER else _encoder.encode(sender).decode()


def parse_sender(text: str) -> StoredSender:
    """The sender from its JSON."""
    return _decoder.decode(text)


NO_SENDER = StoredSender()
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(StoredSender)
