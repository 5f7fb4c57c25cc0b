"""Receipts: signed, opaque tokens that say where in Kafka the items of a request are.

A receipt holds the Kafka offsets of a request's items, so the service stores nothing for it (but
where a spooled request went).
Callers treat it as opaque. It is signed with a secret of the registry: without the signature anyone
could make up receipts and look up how far a topic partition is. Looking a receipt up also needs an
API key with access to its website.
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
SIGNATURE_BYTES = 8
"""Guessing one at 6,000 attempts a minute takes some three billion years."""
UNSIGNED, CHECKSUM_BYTES = 1, 4
"""UNSIGNED is format 1: a CRC-32 instead of a signature. Such receipts are rejected."""
MAX_LENGTH = 16_384
"""Characters; 500 items of several websites need 2,100, and 9,000 with six vitals each."""
MAX_ITEMS = 4_096
"""More than one request can have; bounds the work of a lookup."""
MAX_RECEIVED_MS = 4_102_444_800_000
"""2100-01-01, as for envelopes."""

UnsignedInt = Annotated[int, Meta(ge=0, le=2**62)]
ItemIndex = Annotated[int, Meta(ge=0, lt=MAX_ITEMS)]

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = bytes.maketrans(b"-_", b"+/")


class Receipt(Struct, array_like=True, frozen=True, gc=False):
    """Where the accepted items of one request are. New fields go at the end."""

    format: int
    topic: str
    """Topic of the kind, without the topic prefix."""
    epoch: UnsignedInt
    """Topic epoch of the offset, where the topic id is not known."""
    partition: Annotated[int, Meta(ge=0, lt=2**31)]
    offset: Annotated[int, Meta(ge=-1, le=2**62)]
    """Offset of the chunk; -1 when Kafka acknowledged it without an offset, or it was spooled."""
    first_position: Annotated[int, Meta(ge=0, lt=2**31)]
    """Position of the first item in the chunk."""
    count: Annotated[int, Meta(ge=1, le=MAX_ITEMS)]
    received_ms: Annotated[int, Meta(ge=0, lt=MAX_RECEIVED_MS)]
    owner_id: str
    """Website of the items; the organization when they belong to several websites or none."""
    indexes: Annotated[Sequence[ItemIndex], Meta(max_length=MAX_ITEMS)] | None = None
    """Index of each item in the request, in the order of the chunk; None: the same order."""
    topic_id: Annotated[str, Meta(max_length=64)] = ""
    """Kafka's topic id, whose epoch the table knows; empty: `epoch` is used."""
    spool_id: Annotated[str, Meta(max_length=64)] = ""
    """Id of a request that was spooled while Kafka was away; `spool_deliveries.py`."""
    dropped: Annotated[int, Meta(ge=0, le=MAX_ITEMS)] = 0
    """Number of items, the last ones, that the privacy of their website dropped."""


class InvalidReceipt(Exception):
    """The text is not a receipt, is truncated, or has a wrong signature."""

    UNKNOWN = "This is not a valid receipt"
    OLD = "This receipt was issued by an older version without signatures and cannot be looked up"


class ReceiptKey:
    """Signs and verifies receipts with a keyed BLAKE2s (RFC 7693).

    All collectors and query services have the secret from the registry. A process without one (its
    registry is an old backup) uses a random secret: it rejects the receipts of all other processes,
    and they reject those that it signs.
    """

    def __init__(self, secret: str) -> None:
        self._key = bytes.fromhex(secret) or os.urandom(32)
        self._keyed = hashlib.blake2s(digest_size=SIGNATURE_BYTES, key=self._key, person=b"receipt")

    def secret_for(self, purpose: str) -> bytes:
        """A secret for something else, which no receipt shows."""
        return hashlib.blake2s(purpose.encode(), key=self._key, person=b"secret").digest()

    def sign(self, receipt: Receipt) -> str:
        """The signed receipt as URL-safe text."""
        payload = _encode(receipt)
        return _encode_base64(payload + self._signature(payload))

    def verify(self, text: str) -> Receipt:
        """Decode a receipt that was signed with this key; InvalidReceipt for any other text."""
        signed = _decode_base64(text)
        payload, signature = signed[:-SIGNATURE_BYTES], signed[-SIGNATURE_BYTES:]
        if not hmac.compare_digest(self._signature(payload), signature):
            raise InvalidReceipt(
                InvalidReceipt.OLD if _is_unsigned(signed) else InvalidReceipt.UNKNOWN
            )
        return _decode_payload(payload)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReceiptKey) and self._signature(b"") == other._signature(b"")

    def __hash__(self) -> int:
        return hash(self._signature(b""))

    def _signature(self, payload: bytes) -> bytes:
        keyed = self._keyed.copy()
        keyed.update(payload)
        return keyed.digest()


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Receipt)


def unverified(text: str) -> Receipt:
    """Decode a receipt without verification: this process has just signed it."""
    return _decode_payload(_decode_base64(text)[:-SIGNATURE_BYTES])


def _encode_base64(signed: bytes) -> str:
    return binascii.b2a_base64(signed, newline=False).translate(_URL_SAFE, b"=").decode()


def _decode_base64(text: str) -> bytes:
    if len(text) > MAX_LENGTH:
        raise InvalidReceipt(InvalidReceipt.UNKNOWN)
    try:
        plain = text.encode("ascii").translate(_PLAIN)
        decoded = binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:  # not ASCII, not base64
        raise InvalidReceipt(InvalidReceipt.UNKNOWN) from None
    if _encode_base64(decoded) != text:  # the unused bits of the last character are not signed
        raise InvalidReceipt(InvalidReceipt.UNKNOWN)
    return decoded


def _decode_payload(payload: bytes) -> Receipt:
    try:
        receipt = _decoder.decode(payload)
    except (ValueError, msgspec.DecodeError):
        raise InvalidReceipt(InvalidReceipt.UNKNOWN) from None
    if receipt.format != RECEIPT_FORMAT:
        raise InvalidReceipt(InvalidReceipt.UNKNOWN)
    return receipt


def _is_unsigned(signed: bytes) -> bool:
    """Whether it is a valid receipt of format 1."""
    payload, checksum = signed[:-CHECKSUM_BYTES], int.from_bytes(signed[-CHECKSUM_BYTES:])
    try:
        return zlib.crc32(payload) == checksum and _decoder.decode(payload).format == UNSIGNED
    except (ValueError, msgspec.DecodeError):
        return False
