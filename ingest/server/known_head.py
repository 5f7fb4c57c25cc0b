"""KnownHead: the head of a request that this connection sent before, so that it is parsed once.

Senders on a connection that stays open repeat their head byte by byte; only the length of the body
changes. The parser has accepted the head, so the same bytes with another length need no parser.
"""

from typing import Any, Self

from ingest.decoding.request_head import READ_HEADS
from schemas.http.asgi import BY_NAME

LENGTH = b"content-length"
HEAD_END = b"\r\n\r\n"
MAX_DIGITS = 9
MAX_HEAD_BYTES = 4_096
"""Longer heads are not remembered, because every open connection keeps one."""

Headers = list[tuple[bytes, bytes]]


class KnownHead:
    """One head, split at the digits of its length, and the ASGI scope that it became."""

    __slots__ = ("_after", "_after_size", "_before", "_headers", "_scope", "_start", "shared")

    def __init__(self, before: bytes, after: bytes, scope: dict[str, Any]) -> None:
        self._before = before
        self._after = after
        """Begins with the end of its line."""
        self._start, self._after_size = len(before), len(after)
        self._headers: Headers = scope["headers"]
        self._scope = scope
        self.shared: dict[str, Any] = {}
        """What requests with this head have in common."""
        scope[READ_HEADS] = self.shared

    @classmethod
    def of(cls, data: bytes, body: bytes, scope: dict[str, Any]) -> Self | None:
        """The head of a request that was the whole of `data`; None if it cannot be sure of that.

        Only a head with one plain length: not of a body in chunks, and with no name twice.
        """
        by_name: dict[bytes, bytes] | None = scope.get(BY_NAME)
        head = data[: len(data) - len(body)]
        if not body or by_name is None or b"transfer-encoding" in by_name:
            return None
        if len(head) > MAX_HEAD_BYTES:
            return None
        digits = b"%d" % len(body)
        if by_name.get(LENGTH) != digits or not head.endswith(HEAD_END) or HEAD_END in head[:-4]:
            return None
        start = head.lower().find(b"\r\n" + LENGTH + b": " + digits + b"\r\n")
        if start < 0:
            return None
        start += len(LENGTH) + 4
        return cls(head[:start], head[start + len(digits) :], scope)

    def body_of(self, data: bytes) -> bytes | None:
        """The body, if `data` is one whole request with this head; else None."""
        if not data.startswith(self._before):
            return None
        start = self._start
        end = data.find(b"\r", start, start + MAX_DIGITS + 1)
        if end < 0 or not data.startswith(self._after, end):
            return None
        body = data[end + self._after_size :]
        return body if data[start:end] == b"%d" % len(body) else None

    def new_scope(self, length: int) -> dict[str, Any]:
        """The scope of another request with this head."""
        scope = self._scope.copy()
        digits = b"%d" % length
        if scope[BY_NAME][LENGTH] != digits:
            headers = [(n, digits if n == LENGTH else value) for n, value in self._headers]
            scope["headers"], scope[BY_NAME] = headers, dict(headers)
        return scope
