"""Whether a key came with it, and what the sender's program said of itself.

The program's words are kept so that newer rules can read them again.
"""

from operator import attrgetter

import msgspec
from msgspec import Struct

from schemas.envelope import HEADERS, Envelope
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import Rows

KEPT = tuple(name for name in HEADERS if name.startswith("sec-") or name == "purpose")
"""What else the headers told is in columns of its own, or not to be kept."""


class Sender(Struct, frozen=True, omit_defaults=True):
    """The part of an envelope that tells the program."""

    user_agent: str = ""
    trusted: bool = False
    headers: dict[str, str] = {}


def put_sender(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if rows.wants("sender"):
        rows.columns["sender"] = rows.per_envelope(written)
    if rows.wants("trusted"):
        rows.columns["trusted"] = rows.per_envelope(attrgetter("trusted"))


def written(envelope: Envelope) -> str | None:
    """The sender as JSON; None when nothing is known of it."""
    told = envelope.headers
    kept = {name: told[name] for name in KEPT if name in told} if told else {}
    sender = Sender(envelope.user_agent, envelope.trusted, kept)
    return None if sender == NOBODY else _encoder.encode(sender).decode()


def read(text: str) -> Sender:
    """The sender again."""
    return _decoder.decode(text)


NOBODY = Sender()
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Sender)
