"""SpoolFile: requests that wait for Kafka on disk, each with its length and CRC-32.

    "TIDESP01" | length, CRC-32, request | length, CRC-32, request | …

One process appends, and a file is never appended to after its process ended. So what does not read
as a request at the end of a file was never acknowledged to a sender: it is cut off when the file is
opened again. What does not read between two requests was damaged by the disk: it is skipped, and
how many requests it was follows from the number of the next one.
"""

import os
import re
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
REFUSED_SUFFIX = ".refused"
"""Of a file with requests that Kafka will never take."""
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
    number: int = -1
    """Its number in the file; -1 in files of version 0.4.0."""

    @property
    def slot(self) -> Slot:
        """Requests of one slot are sent in order."""
        return slot_of(self.topic, self.partition_key)


def slot_of(topic: str, partition_key: int) -> Slot:
    """The slot of a request."""
    return topic, partition_key % SLOTS


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(SpooledRequest)
_FIRST_BYTES = re.compile(rb"[\x95\x96][\xa0-\xbf]")
"""How requests begin in MessagePack: an array of five or six fields, the first a short text."""


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


def decode_spooled(data: bytes, start: int = 0) -> Iterator[tuple[SpooledRequest, int]]:
    """Each whole request and where it ends; the first that is torn or damaged ends the list."""
    while len(data) - start >= _HEAD.size:
        length, checksum = _HEAD.unpack_from(data, start)
        end = start + _HEAD.size + length
        if length > MAX_REQUEST_BYTES or end > len(data):
            return
        payload = data[start + _HEAD.size : end]
        if zlib.crc32(payload) != checksum:
            return
        try:
            request = _decoder.decode(payload)
        except msgspec.DecodeError:
            return
        yield request, end
        start = end


def next_whole_request(data: bytes, damaged: int) -> int | None:
    """Where the next whole request begins behind a damaged one; None without any."""
    for match in _FIRST_BYTES.finditer(data, damaged + 1 + _HEAD.size):
        start = match.start() - _HEAD.size
        length, _ = _HEAD.unpack_from(data, start)
        if length > len(data) - match.start():
            continue  # text in any script with three bytes a character looks like beginnings
        if next(decode_spooled(data, start), None) is not None:
            return start
    return None


def all_whole_requests(data: bytes) -> Iterator[tuple[SpooledRequest, int]]:
    """Each whole request of a file and where it ends, also behind damaged ones."""
    start: int | None = len(MAGIC)
    while start is not None:
        end = start
        for request, end in decode_spooled(data, start):
            yield request, end
        start = next_whole_request(data, end)


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
        self.damaged = 0
        """Undelivered requests that the disk damaged, as far as the file was read."""
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
                length = _HEAD.size + _HEAD.unpack_from(data)[0]  # of a request that is larger
                unread = self.synced - self.read_bytes - len(data)
                data += file.read(max(0, min(length - len(data), unread)))
        requests = []
        end = 0
        for request, end in decode_spooled(data):  # noqa: B007 - the last end is used below
            number = max(request.number, self.read_requests)
            skipped = range(self.read_requests, number)
            self.damaged += sum(n not in self.delivered for n in skipped)
            self.read_requests = number + 1
            requests.append((number, request))
        if not end:
            self._skip_damaged()
            return self.read(max_bytes)
        self.read_bytes += end
        return [(n, request) for n, request in requests if n not in self.delivered]

    def _skip_damaged(self) -> None:
        """Go to the next whole request; OSError without any."""
        with self.path.open("rb") as file:
            file.seek(self.read_bytes)
            data = file.read(self.synced - self.read_bytes)
        start = next_whole_request(data, 0)
        if start is None:
            raise OSError(f"{self.path} has changed on disk at byte {self.read_bytes}")
        self.read_bytes += start

    def recover(self, delivered: set[int]) -> tuple[set[Slot], int]:
        """Open the file of a process that ended: slots of what is undelivered, and bytes cut off.

        OSError.
        """
        data = self.path.read_bytes()
        requests = list(all_whole_requests(data))
        end = len(MAGIC) if data.startswith(MAGIC) else 0
        if requests:
            end = requests[-1][1]
        if end < len(data):
            os.truncate(self.path, end)
        self.size = self.synced = max(end, len(MAGIC))
        self.delivered = delivered
        slots = set()
        for request, _ in requests:
            number = max(request.number, self.requests)
            if number not in delivered:
                slots.add(request.slot)
            self.requests = number + 1
        self.undelivered = sum(n not in delivered for n in range(self.requests))
        self.first_ms = requests[0][0].received_ms if requests else 0
        return slots, len(data) - end

    def close(self) -> None:
        """Close it; it can still be read."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """Delete it, as everything is delivered; with undeliverable requests it is set aside."""
        self.close()
        if self.keep:
            self.path.rename(self.path.with_suffix(REFUSED_SUFFIX))
        else:
            self.path.unlink(missing_ok=True)
