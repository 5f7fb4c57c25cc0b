"""Jitsu: Segment's messages, with the write key in a header. https://docs.jitsu.com/"""

from collections.abc import Callable

from ingest.protocols import segment
from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    Example,
    Messages,
    Outcome,
    Protocol,
    Reply,
    Route,
    TrackerRequest,
    json_reply,
)

WRITE_KEY_HEADER = b"x-write-key"
TYPES = ("page", "track", "identify", "group")
PREFIXES = ("/api/s", "/api/s/s2s")
"""Of browsers, and of servers."""


def reads_one(message_type: str) -> Callable[[TrackerRequest], Messages]:
    """Reads a body that is one message of this type."""
    read_message = segment.reads_one(message_type)

    def read(request: TrackerRequest) -> Messages:
        return Messages(write_key(request), read_message(request).messages)

    return read


def write_key(request: TrackerRequest) -> str | None:
    """The id of the write key `id:secret` in the header; that of the body is masked."""
    header = request.headers.get(WRITE_KEY_HEADER, b"").decode("latin-1")
    return header.partition(":")[0] or None


def reply(_outcome: Outcome) -> Reply:
    """Clients require JSON."""
    return json_reply({"ok": True})


JITSU = Protocol(
    product="jitsu",
    title="Jitsu",
    setting="host: '{url}', writeKey '{id}:secret'",
    routes=tuple(
        Route(
            path=f"{prefix}/{message_type}",
            example=Example(
                segment.EXAMPLES[message_type],
                headers={WRITE_KEY_HEADER.decode(): f"{EXAMPLE_ALIAS}:secret"},
            ),
            read=reads_one(message_type),
            reply=reply,
        )
        for prefix in PREFIXES
        for message_type in TYPES
    ),
)
