"""RecentRequests: the last requests of each website, in bounded memory, with live followers.

For people who install a tracker. Published items are kept as encoded envelopes, and decoded only
when they are shown. Bounded are the requests and bytes per website, and the bytes of all
websites, where the website that has been silent longest is evicted first.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ingest.decoding.decoder import RejectedItem
from ingest.publishing.envelopes import EncodedRequest
from ingest.publishing.rejection_counts import REJECTS_OMITTED, RejectionCount, RejectionCounts
from schemas.envelope import decode_envelope
from schemas.errors import Unavailable

MAX_REQUESTS = 50
MAX_WEBSITE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 16 * 1024 * 1024
REQUEST_OVERHEAD_BYTES = 512
"""Approximate memory of a request, without its items."""
REJECT_OVERHEAD_BYTES = 192
"""Approximate memory of a reject, without its message."""
MAX_KEPT_BYTES = MAX_WEBSITE_BYTES // 4
"""Bytes of items kept per request."""

MAX_FOLLOWERS = 50
MAX_FOLLOWERS_PER_ORGANIZATION = 10
"""Lower, so that one organization cannot take all."""
MAX_QUEUED_REQUESTS = 100
"""Requests that a slow follower may be behind; then the oldest are dropped."""


class RequestError(Struct, frozen=True, gc=False):
    """Why a request was rejected. Not the exception itself, which keeps its traceback alive."""

    status: int
    code: str
    message: str


class RecentRequest(Struct, frozen=True, gc=False):
    """One request of one website: published items, rejected items, or an error."""

    at_ms: int
    topic_or_path: str
    """Topic of published items; path of rejects and errors."""
    count: int = 0
    """Number of items in the whole request."""
    envelope: bytes = b""
    """The published envelope; empty if there is none, or if it is too large to keep."""
    receipt: str = ""
    first_item: int = 0
    """Position of its first item among those of the receipt, which may be of several websites."""
    rejected: Sequence[RejectedItem] = ()
    error: RequestError | None = None
    omitted_rejects: int = 0
    """Rejects beyond those that are kept."""

    @property
    def size(self) -> int:
        """Approximate memory in bytes."""
        if not self.rejected:
            return REQUEST_OVERHEAD_BYTES + len(self.envelope)
        reject_bytes = sum(REJECT_OVERHEAD_BYTES + len(reject.message) for reject in self.rejected)
        return REQUEST_OVERHEAD_BYTES + len(self.envelope) + reject_bytes

    def rejections(self) -> Iterator[RejectionCount]:
        """What was rejected of it, by item; the request as a whole when no item was."""
        at = self.at_ms, self.at_ms
        for reject in self.rejected:
            yield RejectionCount(self.topic_or_path, reject.code, reject.message, 1, *at)
        if self.omitted_rejects:
            omitted = self.omitted_rejects
            yield RejectionCount(self.topic_or_path, "", REJECTS_OMITTED, omitted, *at)
        if self.error is not None and not self.rejected:
            error = self.error
            yield RejectionCount(self.topic_or_path, error.code, error.message, 1, *at)


class _RequestBuffer:
    """The last requests of one website."""

    __slots__ = ("bytes", "last", "requests")

    def __init__(self, last: int) -> None:
        self.requests: deque[tuple[int, RecentRequest]] = deque()
        """Oldest first, each with its size."""
        self.bytes = 0
        self.last = last
        """Number of the newest request; they are numbered without gaps."""


FollowerQueue = asyncio.Queue[RecentRequest | str | None]
"""Requests that a follower has not read yet, and warnings; None ends the stream."""


class DebugFollower(Struct, frozen=True):
    """Subject and organization of one follower."""

    subject_id: str
    organization_id: str


class RecentRequests:
    """The last requests of all websites, and their followers."""

    def __init__(self) -> None:
        self._buffers: OrderedDict[str, _RequestBuffer] = OrderedDict()
        self._bytes = 0
        self._added = 0
        self._followers: dict[FollowerQueue, DebugFollower] = {}
        self._closed = False
        self.rejection_counts = RejectionCounts()
        self.drift_counts = RejectionCounts()
        """Of accepted items that differ from the contract of their website."""

    def add(self, subject_id: str, request: RecentRequest) -> None:
        """Add a request, evict what exceeds the bounds, and notify the followers."""
        if request.rejected or request.error is not None:
            self.rejection_counts.add(subject_id, request.rejections())
        buffer = self._buffers.get(subject_id)
        if buffer is None:
            # Behind the numbers of a buffer of this website that was evicted.
            buffer = self._buffers[subject_id] = _RequestBuffer(self._added)
        else:
            self._buffers.move_to_end(subject_id)
        requests, size, before = buffer.requests, request.size, buffer.bytes
        requests.append((size, request))
        size += before
        while size > MAX_WEBSITE_BYTES or len(requests) > MAX_REQUESTS:
            size -= requests.popleft()[0]
        buffer.bytes = size
        buffer.last += 1
        self._added += 1
        self._bytes += size - before
        while self._bytes > MAX_TOTAL_BYTES:
            _, evicted = self._buffers.popitem(last=False)
            self._bytes -= evicted.bytes
        if self._followers:
            self._notify(subject_id, request)

    def latest(self, subject_id: str) -> Sequence[RecentRequest]:
        """The last requests, newest first."""
        buffer = self._buffers.get(subject_id)
        return [] if buffer is None else [request for _, request in reversed(buffer.requests)]

    def after(self, subject_id: str, number: int) -> tuple[int, Sequence[RecentRequest]]:
        """Number of the last request, and those behind `number` that are kept, newest first."""
        buffer = self._buffers.get(subject_id)
        last = self._added if buffer is None else buffer.last
        return last, self.latest(subject_id)[: max(0, last - number)]

    @contextmanager
    def follow(
        self, subject_id: str, organization_id: str, others: Sequence[RecentRequest] = ()
    ) -> Iterator[FollowerQueue]:
        """A queue of the last requests, oldest first, and then of each new one.

        `others` are requests of other processes, oldest first.
        """
        own_followers = [
            follower
            for follower in self._followers.values()
            if follower.organization_id == organization_id
        ]
        if (
            self._closed
            or len(self._followers) >= MAX_FOLLOWERS
            or len(own_followers) >= MAX_FOLLOWERS_PER_ORGANIZATION
        ):
            raise Unavailable(
                "Too many clients are following this collector; retry later", retry_after=10
            )
        queue: FollowerQueue = asyncio.Queue(MAX_QUEUED_REQUESTS)
        for request in merged(self.latest(subject_id), others):
            put_dropping_oldest(queue, request)
        self._followers[queue] = DebugFollower(subject_id, organization_id)
        try:
            yield queue
        finally:
            del self._followers[queue]

    def close(self) -> None:
        """End the streams of all followers."""
        self._closed = True
        for queue in self._followers:
            put_dropping_oldest(queue, None)

    def _notify(self, subject_id: str, request: RecentRequest) -> None:
        for queue, follower in self._followers.items():
            if follower.subject_id == subject_id:
                put_dropping_oldest(queue, request)


def merged(
    newest_first: Sequence[RecentRequest], others: Sequence[RecentRequest]
) -> Sequence[RecentRequest]:
    """The requests of this process and `others`, oldest first."""
    return sorted([*reversed(newest_first), *others], key=lambda request: request.at_ms)


def put_dropping_oldest(queue: FollowerQueue, request: RecentRequest | str | None) -> None:
    """Drop the oldest request if the queue of a slow follower is full."""
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(request)


def record_published(
    recent_requests: RecentRequests, topic: str, request: EncodedRequest, receipt: str
) -> None:
    """Record a published request, once per website."""
    if len(request.envelopes) == 1:
        [envelope] = request.envelopes
        recent_requests.add(request.owner_id, _published_request(topic, request, envelope, receipt))
        return
    first_item = 0
    for envelope in request.envelopes:
        decoded = decode_envelope(envelope)
        published = _published_request(topic, request, envelope, receipt, first_item)
        recent_requests.add(decoded.subject_id, published)
        first_item += decoded.count


def _published_request(
    topic: str, request: EncodedRequest, envelope: bytes, receipt: str, first_item: int = 0
) -> RecentRequest:
    kept_envelope = envelope if len(envelope) <= MAX_KEPT_BYTES else b""
    return RecentRequest(
        request.received_ms, topic, request.count, kept_envelope, receipt, first_item
    )
