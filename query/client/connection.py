"""HTTP requests of the client: retries, error responses, bodies that are read in pieces."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from query.client.errors import (
    ServiceUnavailable,
    TooManyRequests,
    TransferError,
    _rejection,
    wrong_argument,
)

T = TypeVar("T")

_PIECE_BYTES = 65_536
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class HttpClient:
    """Requests to both services with one API key."""

    query_url: str
    key: str | None = field(default=None, repr=False)
    collect_url: str | None = None
    seconds: float = 60.0
    """Timeout of one response."""
    tries: int = 5
    sleep: Callable[[float], None] = time.sleep

    def _json(
        self,
        method: str,
        path: str,
        body: object = None,
        where: Mapping[str, Any] | None = None,
        *,
        collect: bool = False,
        repeat: bool = True,
    ) -> Any:
        """The JSON of a response; `where` is the query string.

        Without `repeat` the request is not sent again after a broken connection.
        """
        target = _target(path, where)
        return self._tried(lambda: _whole(self._once(method, target, body, collect)), repeat)

    def _bytes(
        self, method: str, path: str, body: object = None, where: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        """The bytes of a response; TransferError when it ends early."""
        target = _target(path, where)
        return _pieces(self._tried(lambda: self._once(method, target, body)))

    def _once(
        self, method: str, target: str, body: object = None, collect: bool = False
    ) -> HTTPResponse:
        """A successful response with an unread body."""
        url = self.collect_url if collect else self.query_url
        if url is None:
            raise wrong_argument("to send, the client needs a collect_url", "collect_url")
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.seconds)
        headers = {"connection": "close"}
        payload = None if body is None else json.dumps(body, default=str).encode()
        if self.key:
            headers["x-api-key"] = self.key
        if payload is not None:
            headers["content-type"] = "application/json"
        connection.request(method, parts.path.rstrip("/") + target, payload, headers)
        response = connection.getresponse()
        if response.status >= 400:
            with response:
                raise _rejection(
                    response.status, response.read(), response.getheader("retry-after")
                )
        return response

    def _tried(self, once: Callable[[], T], repeat: bool = True) -> T:
        """Call `once`, with retries and exponential backoff for temporary errors."""
        for attempt in range(1, self.tries + 1):
            pause = 0.25 * 2**attempt
            try:
                return once()
            except (TooManyRequests, ServiceUnavailable) as error:
                if attempt == self.tries or error.status not in (429, 503):
                    raise
                self.sleep(min(error.retry_after or pause, _LONGEST_PAUSE))
            except (HTTPException, OSError) as error:
                if attempt == self.tries or not repeat:
                    raise TransferError(f"no whole answer came: {error!r}") from error
                self.sleep(pause)
        raise AssertionError("unreachable")


def _target(path: str, where: Mapping[str, Any] | None) -> str:
    """Path and query string: lists separated by commas, filters as JSON."""
    given = {name: _text(value) for name, value in (where or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)


def _pieces(response: HTTPResponse) -> Iterator[bytes]:
    try:
        with response:
            while piece := response.read(_PIECE_BYTES):
                yield piece
            missing = response.length
    except (HTTPException, OSError) as error:
        raise TransferError(f"the answer broke off: {error!r}") from error
    if missing:
        raise TransferError(f"the answer broke off: {missing:,} bytes are missing")


def _whole(response: HTTPResponse) -> Any:
    with response:
        return json.loads(response.read())
