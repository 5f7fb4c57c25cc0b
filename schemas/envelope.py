"""Envelopes and chunks: the format of a Kafka message.

A request becomes one envelope for each kind of item and website in it. All envelopes of one kind
are in one chunk, so the items of a kind are in Kafka either completely or not at all. Items keep
the bytes that the tracker sent, unless field aliases or a tracker format were converted. An item
is identified by (topic, partition, offset, position); positions are counted through all envelopes
of a chunk.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

CHUNK_FORMAT = 1


class Envelope(Struct, array_like=True, frozen=True, gc=False):
    """Accepted items of one website (or link), with what only the collector knows about them.

    New fields go at the end and have a default.
    """

    subject_id: str
    """Website id; for clicks the link id."""
    organization_id: str
    received_ms: int
    count: int
    """Number of items in `items`."""
    items: bytes
    """The items as a JSON array."""
    client_network: str = ""
    """The client address, truncated to /24 or /48; empty when unknown."""
    user_agent: str = ""
    trusted: bool = False
    """Whether the request had an API key, as servers have; browsers have none."""
    headers: dict[str, str] = {}
    """Request headers that enrichment reads, by lower-case name; see ENRICHMENT_HEADERS."""
    idempotency_key: str = ""
    """`Idempotency-Key` header of the request; empty without one."""
    import_id: str = ""
    """Import that the items belong to; empty for live items."""
    anonymous_id: str = ""
    """Derived anonymous id of items without one: keyed hash for one day and website, or empty."""
    awaited: bool = False
    """Whether the request waits until its items are stored."""
    clock_offset_ms: int = 0
    """Added to the timestamps of its items: the sender's clock is ahead or behind."""
    replay_of: str = ""
    """Where its only item lay when it was quarantined (`replay_id`); empty for all others."""
    drop_reason: str = ""
    """Why its items are dropped, by the privacy of the website; `items` is then an empty array."""
    mask_texts: bool = True
    """Whether e-mail addresses, tokens and card numbers in errors and URLs are masked."""
    locate: bool = True
    """Whether country, region and city are derived."""
    names_visitor: bool | None = None
    """Whether a server that sent it named the visitor's user agent or address.

    None: the browser sent it, or with `trusted` a server, and both are those of the request.
    """

    @property
    def has_visitor(self) -> bool:
        """Whether user agent and address are the visitor's, and not those of a server."""
        return not self.trusted if self.names_visitor is None else self.names_visitor


CLIENT_HINTS = (
    "sec-ch-ua",
    "sec-ch-ua-full-version-list",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-ch-ua-platform-version",
    "sec-ch-ua-model",
    "sec-ch-ua-form-factors",
)
"""Client hints: headers in which browsers describe themselves beside the user agent."""

ENRICHMENT_HEADERS = (
    "accept-language",
    "origin",
    "referer",
    *CLIENT_HINTS,
    "purpose",
    "sec-purpose",
)

COUNTRY_HEADER = "country"
"""Key among the headers for the country that a trusted proxy sent, whatever its header."""


class Chunk(Struct, array_like=True, frozen=True, gc=False):
    """The content of one Kafka message."""

    format: int
    envelopes: list[Envelope]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Chunk)
_envelope_decoder = msgspec.msgpack.Decoder(Envelope)


def encode_envelope(envelope: Envelope) -> bytes:
    """Encode one envelope."""
    return _encoder.encode(envelope)


class EnvelopeTemplate:
    """Encodes envelopes that differ only in time, items and anonymous id.

    To the same bytes as `encode_envelope`, in half the time: what they share is encoded once.
    """

    __slots__ = ("_after", "_before", "_between")

    def __init__(self, envelope: Envelope) -> None:
        fields = [_encoder.encode(value) for value in msgspec.structs.astuple(envelope)]
        names = Envelope.__struct_fields__
        time, items = names.index("received_ms"), names.index("items") + 1
        anonymous_id = names.index("anonymous_id")
        header = _encoder.encode([None] * len(names))[: -len(names)]  # a None is one byte
        self._before = header + b"".join(fields[:time])
        self._between = b"".join(fields[items:anonymous_id])
        self._after = b"".join(fields[anonymous_id + 1 :])

    def encode(self, received_ms: int, count: int, items: bytes, anonymous_id: str) -> bytes:
        """Encode an envelope with these fields and those of the template."""
        changed = _encoder.encode((received_ms, count, items))
        return b"".join(
            (
                self._before,
                changed[1:],  # without the length of the tuple
                self._between,
                _encoder.encode(anonymous_id),
                self._after,
            )
        )


def decode_envelope(data: bytes) -> Envelope:
    """Decode what `encode_envelope` encoded."""
    return _envelope_decoder.decode(data)


def encode_chunk(envelopes: Sequence[bytes]) -> bytes:
    """Encode envelopes that are encoded already as one Kafka message."""
    count = len(envelopes)
    head = _encoder.encode((CHUNK_FORMAT, [None] * count))
    return b"".join((head[: len(head) - count], *envelopes))  # a None is one byte


def decode_chunk(message: bytes) -> Chunk:
    """Decode a Kafka message; ValueError when it is not a chunk or of a later format."""
    try:
        chunk = _decoder.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not a chunk: {error}") from None
    if chunk.format != CHUNK_FORMAT:
        raise ValueError(f"chunk of format {chunk.format}; this worker reads {CHUNK_FORMAT}")
    return chunk
