"""CollectorClient: sends import requests in order, with retries and backoff."""

import http.client
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

MAX_ITEMS = 500
MAX_BYTES = 900_000
RETRY_TIMEOUT_SECONDS = 120.0
PROPAGATION_SECONDS = 10.0
"""Time within which a collector may not have read the new import from the registry."""
MAX_BACKOFF_SECONDS = 30.0
RETRYABLE_STATUSES = frozenset((408, 429, 503))
RETRYABLE_WHEN_NEW = frozenset((401, 403))


Notify = Callable[[str], None]
"""Prints a message."""


class ImportSendFailed(Exception):
    """The collector rejected a request or did not respond; the message contains its response."""


class ItemRejection(Struct, frozen=True):
    """One rejected item."""

    index: int
    message: str


class CollectorReply(Struct, frozen=True):
    """The response of the collector."""

    count: int = 0
    rejected: Sequence[ItemRejection] = ()
    message: str = ""
    code: str = ""


class CollectorClient:
    """Sends items of one import over one connection."""

    def __init__(self, collect_url: str, key: str, import_id: str, say: Notify) -> None:
        address = urlsplit(collect_url)
        kind = (
            http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(address.hostname or "", address.port, timeout=30)
        self._target = f"{address.path.rstrip('/')}/import?{urlencode({'import_id': import_id})}"
        self._headers = {"x-api-key": key, "content-type": "application/x-ndjson"}
        self._began = time.monotonic()
        self._unreachable_message = f"the collector at {address.netloc} does not respond; retrying"
        self._say = say

    def send(self, items: Sequence[bytes]) -> CollectorReply:
        """Send with retries until a final response; ImportSendFailed after the timeout."""
        until, pause, notified = time.monotonic() + RETRY_TIMEOUT_SECONDS, 0.1, False
        while True:
            status, reply, retry_after = self._request(b"\n".join(items))
            if status == 200 or reply.code == "NO_ITEM_ACCEPTED":
                return reply
            if not self._is_retryable(status) or time.monotonic() > until:
                raise ImportSendFailed(reply.message or f"the collector responded with {status}")
            if status == 0 and not notified:
                self._say(self._unreachable_message)
                notified = True
            time.sleep(min(retry_after or pause, MAX_BACKOFF_SECONDS))
            pause = min(2 * pause, MAX_BACKOFF_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def _is_retryable(self, status: int) -> bool:
        young = time.monotonic() - self._began < PROPAGATION_SECONDS
        return (
            status in RETRYABLE_STATUSES or status == 0 or (status in RETRYABLE_WHEN_NEW and young)
        )

    def _request(self, body: bytes) -> tuple[int, CollectorReply, float]:
        try:
            self._connection.request("POST", self._target, body, self._headers)
            response = self._connection.getresponse()
            content = response.read()
            waits = float(response.headers.get("retry-after") or 0)
            return response.status, msgspec.json.decode(content, type=CollectorReply), waits
        except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
            self._connection.close()  # reopened by the next request
            return 0, CollectorReply(message=f"no response from the collector: {error!r}"), 0.0
