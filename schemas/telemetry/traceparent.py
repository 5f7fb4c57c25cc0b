"""The header `traceparent` of W3C Trace Context: trace id, span id, and whether it is recorded."""

import re

from msgspec import Struct

HEADER = "traceparent"

_FORMAT = re.compile(
    rb"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-"
    rb"(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
MAX_BYTES = 128
RECORDED = 0x01


class SpanId(Struct, frozen=True):
    """Identifies a span and its trace."""

    trace: int
    span: int
    recorded: bool
    """Whether whoever began the trace records it."""


def parse(value: bytes | None) -> SpanId | None:
    """The ids of a header; None when it is missing or invalid."""
    found = _FORMAT.fullmatch(value) if value and len(value) <= MAX_BYTES else None
    if found is None or found["version"] == b"ff" or (found["version"] == b"00" and found["more"]):
        return None
    trace, span = int(found["trace"], 16), int(found["span"], 16)
    if not trace or not span:
        return None
    return SpanId(trace, span, bool(int(found["flags"], 16) & RECORDED))


def render(trace: int, span: int) -> bytes:
    """The header of a span that is recorded."""
    return b"00-%032x-%016x-01" % (trace, span)
