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

from ingest.decoding.decoder import Rejected
from schemas.errors import Unavailable

REQUESTS = 50
WEBSITE_BYTES = 64 * 1024
ALL_BYTES = 16 * 1024 * 1024
OVERHEAD = 512
"""Bytes that a request costs besides those of its items, about."""
REJECT = 192
"""The same of an item that was refused, besides its message."""

FOLLOWERS = 50
OWN_FOLLOWERS = 10
"""Of one organization, so that others get in."""
BEHIND = 100
"""Requests that a follower may be behind before it misses some."""


class Refusal(Struct, frozen=True, gc=False):
    """Why a request was not taken. Not the failure itself, which holds on to all that led to it."""

    status: int
    code: str
    message: str


class Seen(Struct, frozen=True, gc=False):
    """One request of one website: what was sent on, what of it was not, or why none was."""

    at_ms: int
    what: str
    """Topic of what was sent on; path of what was not."""
    count: int = 0
    """Items of the whole request."""
    envelope: bytes = b""
    """The items as they were sealed; empty when there are none, or too many to keep."""
    receipt: str = ""
    rejected: Sequence[Rejected] = ()
    refusal: Refusal | None = None
    more: int = 0
    """Items that were refused besides, too many to keep."""

    @property
    def size(self) -> int:
        """Bytes that it costs, about."""
        said = sum(REJECT + len(reject.message) for reject in self.rejected)
        return OVERHEAD + len(self.envelope) + said


class _Ring:
    """The last requests of one website."""

    __slots__ = ("bytes", "seen")

    def __init__(self) -> None:
        self.seen: deque[Seen] = deque()
        self.bytes = 0

    def forget(self) -> int:
        """Forget the oldest; how many bytes that frees."""
        size = self.seen.popleft().size
        self.bytes -= size
        return size


Queue = asyncio.Queue[Seen | None]
"""What a follower is yet to read; None is the end."""


class Follower(Struct, frozen=True):
    """Who follows, and what."""

    subject_id: str
    organization_id: str


class Recent:
    """The last requests of all websites that sent some, and who follows them."""

    def __init__(self) -> None:
        self._rings: OrderedDict[str, _Ring] = OrderedDict()
        self._bytes = 0
        self._followers: dict[Queue, Follower] = {}
        self._over = False

    def keep(self, subject_id: str, seen: Seen) -> None:
        """Keep one more, and forget what is over the bounds."""
        ring = self._rings.get(subject_id)
        if ring is None:
            ring = self._rings[subject_id] = _Ring()
        else:
            self._rings.move_to_end(subject_id)
        grown = seen.size
        ring.seen.append(seen)
        ring.bytes += grown
        while ring.bytes > WEBSITE_BYTES or len(ring.seen) > REQUESTS:
            grown -= ring.forget()
        self._bytes += grown
        while self._bytes > ALL_BYTES:
            _, silent = self._rings.popitem(last=False)
            self._bytes -= silent.bytes
        if self._followers:
            self._tell(subject_id, seen)

    def of(self, subject_id: str) -> Sequence[Seen]:
        """The last requests, the newest first."""
        ring = self._rings.get(subject_id)
        return [] if ring is None else [*reversed(ring.seen)]

    @contextmanager
    def follow(self, subject_id: str, organization_id: str) -> Iterator[Queue]:
        """The last requests from the oldest on, and then each as it comes."""
        own = [one for one in self._followers.values() if one.organization_id == organization_id]
        if self._over or len(self._followers) >= FOLLOWERS or len(own) >= OWN_FOLLOWERS:
            raise Unavailable("Too many follow what this collector receives", retry_after=10)
        queue: Queue = asyncio.Queue(BEHIND)
        for seen in reversed(self.of(subject_id)):
            queue.put_nowait(seen)
        self._followers[queue] = Follower(subject_id, organization_id)
        try:
            yield queue
        finally:
            del self._followers[queue]

    def end(self) -> None:
        """Tell all who follow that nothing more comes."""
        self._over = True
        for queue in self._followers:
            _put(queue, None)

    def _tell(self, subject_id: str, seen: Seen) -> None:
        for queue, followed in self._followers.items():
            if followed.subject_id == subject_id:
                _put(queue, seen)


def _put(queue: Queue, seen: Seen | None) -> None:
    """The oldest gives way to the newest when a follower does not keep up."""
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(seen)
