"""PeerLookup and PeerReply: what collector processes send each other about recent requests."""

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from ingest.publishing.recent_requests import RecentRequest, RecentRequests
from ingest.publishing.rejection_counts import RejectionCount

REPLY_SECONDS = 1.0
"""Time in which a process replies; one that does not is counted as silent."""
MAX_PEERS = 64
"""Processes that are asked; further ones are counted as silent."""
MAX_REPLY_BYTES = 512 * 1024
"""The bytes that are kept of a website, several times."""


class PeerLookup(Struct, frozen=True):
    """Asks for the recent requests of one website."""

    subject_id: str
    after: Mapping[str, int] = {}
    """By process: the number of its last request that is known already."""


class PeerReply(Struct, frozen=True):
    """The requests of one process, oldest first."""

    process: str
    last: int
    """The number of its last request."""
    requests: Sequence[RecentRequest]
    rejections: Sequence[RejectionCount] = ()
    """All that it has counted of the website, drift included; only in the first reply to a
    process."""


class PeerReplies(Struct, frozen=True):
    """The replies of other processes, one for each."""

    replies: Sequence[PeerReply] = ()
    silent: int = 0
    """Processes that did not reply in time."""
    warning: str = ""
    """Which requests are missing, and why."""


class Peers(Protocol):
    """Asks other collector processes; OSError when none can be asked."""

    async def ask(self, lookup: PeerLookup) -> PeerReplies: ...


class NoPeers:
    """A collector without others."""

    async def ask(self, lookup: PeerLookup) -> PeerReplies:  # noqa: ARG002
        return PeerReplies()


class OwnRequests:
    """Replies with the requests of this process."""

    def __init__(self, recent_requests: RecentRequests) -> None:
        self.process = f"{os.getpid()}-{os.urandom(4).hex()}"
        self._recent_requests = recent_requests

    def reply(self, lookup: PeerLookup) -> PeerReply:
        """The requests of the website that the asking process does not know."""
        last, newest_first = self._recent_requests.after(
            lookup.subject_id, lookup.after.get(self.process, 0)
        )
        recent, subject_id = self._recent_requests, lookup.subject_id
        rejections: Sequence[RejectionCount] = ()
        if not lookup.after:
            rejections = (
                *recent.rejection_counts.of_website(subject_id),
                *recent.drift_counts.of_website(subject_id),
            )
        return PeerReply(self.process, last, newest_first[::-1], rejections)


encode_message = msgspec.msgpack.Encoder().encode
decode_lookup = msgspec.msgpack.Decoder(PeerLookup).decode
decode_reply = msgspec.msgpack.Decoder(PeerReply).decode
