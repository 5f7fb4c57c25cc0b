"""Recent: the last requests of each website, kept in memory for whoever installs a tracker.

What was sent on is kept as the bytes that were sealed anyway; they are opened only when somebody
looks. All of it is bounded: requests and bytes of a website, and bytes of all websites together,
where the website that sent nothing for longest goes first.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ingest.decoding.decoder import RejectedItem
from ingest.publishing.envelopes import EncodedRequest
from schemas.envelope import decode_envelope
from schemas.errors import Unavailable

MAX_REQUESTS = 50
MAX_WEBSITE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 16 * 1024 * 1024
REQUEST_OVERHEAD_BYTES = 512
"""Bytes that a request costs besides those of its items, about."""
REJECT_OVERHEAD_BYTES = 192
"""The same of an item that was refused, besides its message."""
MAX_KEPT_BYTES = MAX_WEBSITE_BYTES // 4
"""Bytes of items that are kept of one request."""

MAX_FOLLOWERS = 50
MAX_FOLLOWERS_PER_ORGANIZATION = 10
"""Of one organization, so that others get in."""
MAX_QUEUED_REQUESTS = 100
"""Requests that a follower may be behind before it misses some."""


class RequestError(Struct, frozen=True, gc=False):
    """Why a request was not taken. Not the failure itself, which holds on to all that led to it."""

    status: int
    code: str
    message: str


class RecentRequest(Struct, frozen=True, gc=False):
    """One request of one website: what was sent on, what of it was not, or why none was."""

    at_ms: int
    topic_or_path: str
    """Topic of what was sent on; path of what was not."""
    count: int = 0
    """Items of the whole request."""
    envelope: bytes = b""
    """The items as they were sealed; empty when there are none, or too many to keep."""
    receipt: str = ""
    rejected: Sequence[RejectedItem] = ()
    error: RequestError | None = None
    omitted_rejects: int = 0
    """Items that were refused besides, too many to keep."""

    @property
    def size(self) -> int:
        """Bytes that it costs, about."""
        said = sum(REJECT_OVERHEAD_BYTES + len(reject.message) for reject in self.rejected)
        return REQUEST_OVERHEAD_BYTES + len(self.envelope) + said


class _RequestBuffer:
    """The last requests of one website."""

    __slots__ = ("bytes", "requests")

    def __init__(self) -> None:
        self.requests: deque[RecentRequest] = deque()
        self.bytes = 0

    def drop_oldest(self) -> int:
        """Forget the oldest; how many bytes that frees."""
        size = self.requests.popleft().size
        self.bytes -= size
        return size


FollowerQueue = asyncio.Queue[RecentRequest | None]
"""What a follower is yet to read; None is the end."""


class DebugFollower(Struct, frozen=True):
    """Who follows, and what."""

    subject_id: str
    organization_id: str


class RecentRequests:
    """The last requests of all websites that sent some, and who follows them."""

    def __init__(self) -> None:
        self._buffers: OrderedDict[str, _RequestBuffer] = OrderedDict()
        self._bytes = 0
        self._followers: dict[FollowerQueue, DebugFollower] = {}
        self._closed = False

    def add(self, subject_id: str, seen: RecentRequest) -> None:
        """Keep one more, and forget what is over the bounds."""
        ring = self._buffers.get(subject_id)
        if ring is None:
            ring = self._buffers[subject_id] = _RequestBuffer()
        else:
            self._buffers.move_to_end(subject_id)
        grown = seen.size
        ring.requests.append(seen)
        ring.bytes += grown
        while ring.bytes > MAX_WEBSITE_BYTES or len(ring.requests) > MAX_REQUESTS:
            grown -= ring.drop_oldest()
        self._bytes += grown
        while self._bytes > MAX_TOTAL_BYTES:
            _, silent = self._buffers.popitem(last=False)
            self._bytes -= silent.bytes
        if self._followers:
            self._notify(subject_id, seen)

    def latest(self, subject_id: str) -> Sequence[RecentRequest]:
        """The last requests, the newest first."""
        ring = self._buffers.get(subject_id)
        return [] if ring is None else [*reversed(ring.requests)]

    @contextmanager
    def follow(self, subject_id: str, organization_id: str) -> Iterator[FollowerQueue]:
        """The last requests from the oldest on, and then each as it comes."""
        own = [one for one in self._followers.values() if one.organization_id == organization_id]
        if (
            self._closed
            or len(self._followers) >= MAX_FOLLOWERS
            or len(own) >= MAX_FOLLOWERS_PER_ORGANIZATION
        ):
            raise Unavailable("Too many follow what this collector receives", retry_after=10)
        queue: FollowerQueue = asyncio.Queue(MAX_QUEUED_REQUESTS)
        for seen in reversed(self.latest(subject_id)):
            queue.put_nowait(seen)
        self._followers[queue] = DebugFollower(subject_id, organization_id)
        try:
            yield queue
        finally:
            del self._followers[queue]

    def close(self) -> None:
        """Tell all who follow that nothing more comes."""
        self._closed = True
        for queue in self._followers:
            _put_dropping_oldest(queue, None)

    def _notify(self, subject_id: str, seen: RecentRequest) -> None:
        for queue, followed in self._followers.items():
            if followed.subject_id == subject_id:
                _put_dropping_oldest(queue, seen)


def _put_dropping_oldest(queue: FollowerQueue, seen: RecentRequest | None) -> None:
    """The oldest gives way to the newest when a follower does not keep up."""
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(seen)


def record_published(
    recent: RecentRequests, topic: str, sealed: EncodedRequest, receipt: str
) -> None:
    """Note what was sent on."""
    if len(sealed.envelopes) == 1:
        [envelope] = sealed.envelopes
        recent.add(sealed.owner_id, _published_request(topic, sealed, envelope, receipt))
        return
    for envelope in sealed.envelopes:
        subject_id = decode_envelope(envelope).subject_id
        recent.add(subject_id, _published_request(topic, sealed, envelope, receipt))


def _published_request(
    topic: str, sealed: EncodedRequest, envelope: bytes, receipt: str
) -> RecentRequest:
    kept = envelope if len(envelope) <= MAX_KEPT_BYTES else b""
    return RecentRequest(sealed.received_ms, topic, sealed.count, kept, receipt)
