"""Receipts: what a collector hands out for accepted items, and finds them again for ever.

A receipt says where in Kafka the items of one request lie, so nobody has to remember it. To
callers it is opaque. Its checksum is there for what gets lost in copying, not for secrecy: what a
receipt may tell depends on the key of whoever asks.
"""

import binascii
import zlib
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

FORMAT = 1
CHECKSUM = 4
LONGEST = 16_384
"""Characters; 500 items of several websites need some 2,100, with six measurements each 9,000."""
ITEMS = 4_096
"""More than one request can make; who writes a receipt of its own must not ask for a billion."""
LATEST_MS = 4_102_444_800_000
"""2100-01-01, as for envelopes."""

Number = Annotated[int, Meta(ge=0, le=2**62)]
Place = Annotated[int, Meta(ge=0, lt=ITEMS)]

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = bytes.maketrans(b"-_", b"+/")


class Receipt(Struct, array_like=True, frozen=True, gc=False):
    """Where the accepted items of one request lie. Fields are only ever added at the end."""

    format: int
    topic: str
    """Topic of the kind, without the prefix of this installation."""
    epoch: Number
    """Which making of the topic the offset counts in, where Kafka does not tell its id."""
    partition: Annotated[int, Meta(ge=0, lt=2**31)]
    offset: Annotated[int, Meta(ge=-1, le=2**62)]
    """Of the chunk; -1 when Kafka has it and could not say where."""
    first: Annotated[int, Meta(ge=0, lt=2**31)]
    """Position of the first item in the chunk."""
    count: Annotated[int, Meta(ge=1, le=ITEMS)]
    received_ms: Annotated[int, Meta(ge=0, lt=LATEST_MS)]
    owner: str
    """Website of the items; the organization, when they are of several or of none."""
    places: Annotated[Sequence[Place], Meta(max_length=ITEMS)] | None = None
    """Where each item stood in the request, in the order of the chunk; None: as they came."""
    topic_id: Annotated[str, Meta(max_length=64)] = ""
    """Kafka's id of the topic: the table knows its epoch. Empty: `epoch` is what is known."""


class NoReceipt(Exception):
    """The text is no receipt, or not a whole one."""


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Receipt)


def written(receipt: Receipt) -> str:
    """The receipt as text that a URL may hold."""
    said = _encode(receipt)
    signed = said + zlib.crc32(said).to_bytes(CHECKSUM)
    return binascii.b2a_base64(signed, newline=False).translate(_URL_SAFE, b"=").decode()


def read(text: str) -> Receipt:
    """The receipt that was written so; NoReceipt."""
    try:
        plain = text[: LONGEST + 1].encode("ascii").translate(_PLAIN)
        signed = binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
        said, checksum = signed[:-CHECKSUM], int.from_bytes(signed[-CHECKSUM:])
        if len(text) > LONGEST or zlib.crc32(said) != checksum:
            raise NoReceipt(text[:40])
        receipt = _decoder.decode(said)
    except (ValueError, msgspec.DecodeError):  # not ASCII, not base64, not ours
        raise NoReceipt(text[:40]) from None
    if receipt.format != FORMAT:
        raise NoReceipt(f"a receipt of format {receipt.format}")
    return receipt
