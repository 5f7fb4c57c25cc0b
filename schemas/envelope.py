"""Envelopes and chunks: the format of a Kafka message.

One request makes one envelope per website that it names, and all of them lie in one chunk, so
that a request is in Kafka whole or not at all. The items are carried as they came: the JSON
array's bytes. An item's identity is (topic, partition, offset, position in the chunk), positions
counted through all envelopes of the chunk.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

CHUNK_FORMAT = 1


class Envelope(Struct, array_like=True, frozen=True, gc=False):
    """Accepted items of one website (or link), and what only the collector knows about them.

    Fields are only ever added at the end, with a default.
    """

    subject_id: str
    """Website id; for clicks the link id."""
    organization_id: str
    received_ms: int
    count: int
    """How many items `items` holds."""
    items: bytes
    """A JSON array, as it came."""
    address: str = ""
    """Client address cut to /24 or /48; empty when unknown. The raw address is never here."""
    user_agent: str = ""
    trusted: bool = False
    """Sent by a server with an API key, not by a browser."""
    headers: dict[str, str] = {}
    """Headers that enrichment reads, lower case; see HEADERS."""
    request_id: str = ""
    """`Idempotency-Key` of the request."""
    import_id: str = ""
    """The import that these items are part of; empty for what is sent while it happens."""
    visitor: str = ""
    """Who sent the items that name nobody: a keyed hash for one day and website; empty: unknown."""


CLIENT_HINTS = (
    "sec-ch-ua",
    "sec-ch-ua-full-version-list",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-ch-ua-platform-version",
    "sec-ch-ua-model",
    "sec-ch-ua-form-factors",
)
"""Client hints: what a browser says of itself beside its user agent."""

ENRICHMENT_HEADERS = (
    "accept-language",
    "origin",
    "referer",
    *CLIENT_HINTS,
    "purpose",
    "sec-purpose",
)

COUNTRY_HEADER = "country"
"""Beside the headers: the country that a trusted proxy told, in whichever header it does so."""


class Chunk(Struct, array_like=True, frozen=True, gc=False):
    """One Kafka message."""

    format: int
    envelopes: list[Envelope]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Chunk)
_envelope_decoder = msgspec.msgpack.Decoder(Envelope)


def encode_envelope(envelope: Envelope) -> bytes:
    """The bytes of one envelope."""
    return _encoder.encode(envelope)


def decode_envelope(sealed: bytes) -> Envelope:
    """The envelope in bytes that `encode_envelope` made."""
    return _envelope_decoder.decode(sealed)


def encode_chunk(envelopes: Iterable[bytes]) -> bytes:
    """Sealed envelopes as one Kafka message."""
    return _encoder.encode((CHUNK_FORMAT, [Raw(envelope) for envelope in envelopes]))


def decode_chunk(message: bytes) -> Chunk:
    """The chunk in a Kafka message; ValueError when it is none or of a later format."""
    try:
        chunk = _decoder.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError) as refused:
        raise ValueError(f"not a chunk: {refused}") from None
    if chunk.format != CHUNK_FORMAT:
        raise ValueError(f"chunk of format {chunk.format}; this worker reads {CHUNK_FORMAT}")
    return chunk
