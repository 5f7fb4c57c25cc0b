"""Receipts: signed, opaque tokens that say where in Kafka the items of a request are.

A receipt says where in Kafka the items of one request lie, so nobody has to remember it. To
callers it is opaque. It is signed with a secret that only our services know, so that nobody can
make up one and ask how far a topic partition is; what a real one tells depends on the key of
whoever asks.
"""

import binascii
import hashlib
import hmac
import os
import zlib
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

RECEIPT_FORMAT = 2
SIGNATURE = 8
"""Bytes: who guesses 6,000 times a minute needs some three billion years."""
UNSIGNED, CHECKSUM_BYTES = 1, 4
"""The format of before, with a CRC-32 instead: anybody can write those."""
MAX_LENGTH = 16_384
"""Characters; 500 items of several websites need some 2,100, with six measurements each 9,000."""
MAX_ITEMS = 4_096
"""More than one request can make; who writes a receipt of its own must not ask for a billion."""
MAX_RECEIVED_MS = 4_102_444_800_000
"""2100-01-01, as for envelopes."""

UnsignedInt = Annotated[int, Meta(ge=0, le=2**62)]
ItemIndex = Annotated[int, Meta(ge=0, lt=MAX_ITEMS)]

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = bytes.maketrans(b"-_", b"+/")


class Receipt(Struct, array_like=True, frozen=True, gc=False):
    """Where the accepted items of one request lie. Fields are only ever added at the end."""

    format: int
    topic: str
    """Topic of the kind, without the prefix of this installation."""
    epoch: UnsignedInt
    """Which making of the topic the offset counts in, where Kafka does not tell its id."""
    partition: Annotated[int, Meta(ge=0, lt=2**31)]
    offset: Annotated[int, Meta(ge=-1, le=2**62)]
    """Of the chunk; -1 when Kafka has it and could not say where."""
    first_position: Annotated[int, Meta(ge=0, lt=2**31)]
    """Position of the first item in the chunk."""
    count: Annotated[int, Meta(ge=1, le=MAX_ITEMS)]
    received_ms: Annotated[int, Meta(ge=0, lt=MAX_RECEIVED_MS)]
    owner_id: str
    """Website of the items; the organization, when they are of several or of none."""
    indexes: Annotated[Sequence[ItemIndex], Meta(max_length=MAX_ITEMS)] | None = None
    """Where each item stood in the request, in the order of the chunk; None: as they came."""
    topic_id: Annotated[str, Meta(max_length=64)] = ""
    """Kafka's id of the topic: the table knows its epoch. Empty: `epoch` is what is known."""


class InvalidReceipt(Exception):
    """The text is no receipt, not a whole one, or none of ours."""

    UNKNOWN = "This is no receipt, or not a whole one"
    OLD = (
        "This receipt is of a version that did not sign receipts, and cannot be looked up any more"
    )


class ReceiptKey:
    """Signs receipts and verifies them: a keyed BLAKE2s (RFC 7693) of what a receipt says.

    All collectors and query services have the secret from the registry. One that has none, because
    it began with a backup of before, draws its own: its receipts are refused, and nobody's are
    believed.
    """

    def __init__(self, secret: str) -> None:
        key = bytes.fromhex(secret) or os.urandom(32)
        self._keyed = hashlib.blake2s(digest_size=SIGNATURE, key=key, person=b"receipt")

    def written(self, receipt: Receipt) -> str:
        """The receipt as text that a URL may hold."""
        said = _encode(receipt)
        signed = said + self._signature(said)
        return binascii.b2a_base64(signed, newline=False).translate(_URL_SAFE, b"=").decode()

    def read(self, text: str) -> Receipt:
        """The receipt that was written so with this key; NoReceipt."""
        signed = _bytes_of(text)
        said, signature = signed[:-SIGNATURE], signed[-SIGNATURE:]
        if not hmac.compare_digest(self._signature(said), signature):
            raise InvalidReceipt(
                InvalidReceipt.OLD if _is_unsigned(signed) else InvalidReceipt.UNKNOWN
            )
        return _opened(said)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReceiptKey) and self._signature(b"") == other._signature(b"")

    def __hash__(self) -> int:
        return hash(self._signature(b""))

    def _signature(self, said: bytes) -> bytes:
        keyed = self._keyed.copy()
        keyed.update(said)
        return keyed.digest()


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Receipt)


def unverified(text: str) -> Receipt:
    """What a receipt says, for who knows that it is real: it was written here just now."""
    return _opened(_bytes_of(text)[:-SIGNATURE])


def _bytes_of(text: str) -> bytes:
    if len(text) > MAX_LENGTH:
        raise InvalidReceipt(InvalidReceipt.UNKNOWN)
    try:
        plain = text.encode("ascii").translate(_PLAIN)
        return binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:  # not ASCII, not base64
        raise InvalidReceipt(InvalidReceipt.UNKNOWN) from None


def _opened(said: bytes) -> Receipt:
    try:
        receipt = _decoder.decode(said)
    except (ValueError, msgspec.DecodeError):
        raise InvalidReceipt(InvalidReceipt.UNKNOWN) from None
    if receipt.format != RECEIPT_FORMAT:
        raise InvalidReceipt(InvalidReceipt.UNKNOWN)
    return receipt


def _is_unsigned(signed: bytes) -> bool:
    """Whether it is a whole receipt of the format of before."""
    said, checksum = signed[:-CHECKSUM_BYTES], int.from_bytes(signed[-CHECKSUM_BYTES:])
    try:
        return zlib.crc32(said) == checksum and _decoder.decode(said).format == UNSIGNED
    except (ValueError, msgspec.DecodeError):
        return False
