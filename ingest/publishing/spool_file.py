"""SpoolFile: requests that wait for Kafka on disk, each with its length and CRC-32.

    "TIDESP01" | length, CRC-32, request | length, CRC-32, request | …

One process appends, and a file is never appended to after its process ended. So what does not read
as a request at the end of a file was never acknowledged to a sender: it is cut off when the file is
opened again.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from schemas.envelope import decode_envelope, encode_envelope
from schemas.runtime.files import fsync

MAGIC = b"TIDESP01"
_HEAD = struct.Struct("<II")
MAX_REQUEST_BYTES = 8 * 1024 * 1024
"""Twice what a message of a topic may have."""
SUFFIX = ".spool"
SLOTS = 10_080
"""A multiple of most numbers of partitions: then no slot has requests of two partitions."""

Slot = tuple[str, int]
"""Topic, and partition key modulo SLOTS."""


class SpooledRequest(Struct, array_like=True, frozen=True, gc=False):
    """What the producer is given for one request. New fields go at the end."""

    topic: str
    partition_key: int
    items: int
    received_ms: int
    envelopes: list[bytes]

    @property
    def slot(self) -> Slot:
        """Requests of one slot are sent in order."""
        return slot_of(self.topic, self.partition_key)


def slot_of(topic: str, partition_key: int) -> Slot:
    """The slot of a request."""
    return topic, partition_key % SLOTS


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(SpooledRequest)


def encode_spooled(request: SpooledRequest) -> bytes:
    """The bytes of a request in a spool file."""
    payload = _encode(request)
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def with_idempotency_key(envelope: bytes, key: str) -> bytes:
    """The envelope with this key, unless its sender gave one.

    Then items without an event id that are delivered twice are stored once.
    """
    decoded = decode_envelope(envelope)
    if decoded.idempotency_key:
        return envelope
    return encode_envelope(replace(decoded, idempotency_key=key))


def decode_spooled(data: bytes) -> Iterator[tuple[SpooledRequest, int]]:
    """Each whole request and where it ends; the first that is torn or damaged ends the list."""
    start = 0
    while len(data) - start >= _HEAD.size:
        length, checksum = _HEAD.unpack_from(data, start)
        end = start + _HEAD.size + length
        payload = data[start + _HEAD.size : end]
        if length > MAX_REQUEST_BYTES or len(payload) < length or zlib.crc32(payload) != checksum:
            return
        try:
            request = _decoder.decode(payload)
        except msgspec.DecodeError:
            return
        yield request, end
        start = end


class SpoolFile:
    """One file: appended to by its process, read by the one that delivers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first_ms = 0
        """Time of receipt of its first request."""
        self.requests = 0
        """Requests so far; the number of the next one."""
        self.size = len(MAGIC)
        """With what is not on disk yet."""
        self.synced = len(MAGIC)
        """Bytes that are durably on disk."""
        self.read_bytes = len(MAGIC)
        """Bytes that were read for delivery."""
        self.read_requests = 0
        self.undelivered = 0
        """Requests that Kafka has not acknowledged."""
        self.delivered: set[int] = set()
        """Requests that a process before this one delivered."""
        self.keep = False
        """Whether it has requests that Kafka will never take, so that it must not be deleted."""
        self.failed = False
        """Whether a write failed: nothing is appended any more."""
        self._descriptor: int | None = None

    @property
    def name(self) -> str:
        """Unique over all collectors."""
        return self.path.name.removesuffix(SUFFIX)

    @property
    def is_new(self) -> bool:
        """Whether nothing was appended yet."""
        return self.synced == len(MAGIC) and self._descriptor is None

    @property
    def request_bytes(self) -> int:
        """Bytes of its requests."""
        return self.size - len(MAGIC)

    @property
    def is_read(self) -> bool:
        """Whether everything that is on disk was read."""
        return self.read_bytes >= self.synced

    def append(self, data: bytes) -> None:
        """Write durably; OSError if that failed, and then the bytes may be there or not."""
        try:
            if self._descriptor is None:
                self._create()
            assert self._descriptor is not None  # noqa: S101 - for the type checker
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fdatasync(self._descriptor)
        except OSError:
            self.failed = True
            with suppress(OSError):  # then a torn end is cut off by whoever opens it
                os.truncate(self.path, self.synced)
            self.close()
            raise
        self.synced += len(data)

    def _create(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._descriptor = os.open(self.path, flags, 0o666)
        os.write(self._descriptor, MAGIC)
        fsync(self.path.parent)

    def read(self, max_bytes: int) -> list[tuple[int, SpooledRequest]]:
        """The next requests with their numbers, some `max_bytes` of them; OSError."""
        with self.path.open("rb") as file:
            file.seek(self.read_bytes)
            data = file.read(min(max_bytes, self.synced - self.read_bytes))
            if len(data) >= _HEAD.size:
                missing = _HEAD.size + _HEAD.unpack_from(data)[0] - len(data)
                data += file.read(max(0, missing))  # a request that is larger
        requests = []
        end = 0
        for request, end in decode_spooled(data):  # noqa: B007 - the last end is used below
            requests.append((self.read_requests, request))
            self.read_requests += 1
        if not end:
            raise OSError(f"{self.path} has changed on disk at byte {self.read_bytes}")
        self.read_bytes += end
        return [(n, request) for n, request in requests if n not in self.delivered]

    def recover(self, delivered: set[int]) -> tuple[set[Slot], int]:
        """Open the file of a process that ended: slots of what is undelivered, and bytes cut off.

        OSError.
        """
        data = self.path.read_bytes()
        end = len(MAGIC) if data.startswith(MAGIC) else 0
        requests = list(decode_spooled(data[end:])) if end else []
        end += requests[-1][1] if requests else 0
        if end < len(data):
            os.truncate(self.path, end)
        self.size = self.synced = max(end, len(MAGIC))
        self.requests, self.delivered = len(requests), delivered
        waiting = [request for n, (request, _) in enumerate(requests) if n not in delivered]
        self.undelivered = len(waiting)
        self.first_ms = requests[0][0].received_ms if requests else 0
        return {request.slot for request in waiting}, len(data) - end

    def close(self) -> None:
        """Close it; it can still be read."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """Delete it, as everything is delivered; with undeliverable requests it is set aside."""
        self.close()
        if self.keep:
            self.path.rename(self.path.with_suffix(".refused"))
        else:
            self.path.unlink(missing_ok=True)
