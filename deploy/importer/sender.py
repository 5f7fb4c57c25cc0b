"""Requests of an import, one after the other: the order of its lines is what makes it exact."""

import http.client
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

MOST_ITEMS = 500
MOST_BYTES = 900_000
PATIENCE_SECONDS = 120.0
NEW_SECONDS = 10.0
"""For so long a collector may not have read the new import from the registry."""
LONGEST_PAUSE = 30.0
PASSING = frozenset((408, 429, 503))
STRANGE = frozenset((401, 403))


Say = Callable[[str], None]
"""Tells a person."""


class NotSent(Exception):
    """The collector refused or did not answer; the message says what it said."""


class Bad(Struct, frozen=True):
    """One item that was not taken."""

    index: int
    message: str


class Reply(Struct, frozen=True):
    """What the collector says."""

    count: int = 0
    rejected: Sequence[Bad] = ()
    message: str = ""
    code: str = ""


class Sender:
    """Sends into one import, over one connection."""

    def __init__(self, collect_url: str, key: str, import_id: str, say: Say) -> None:
        address = urlsplit(collect_url)
        kind = (
            http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(address.hostname or "", address.port, timeout=30)
        self._target = f"{address.path.rstrip('/')}/import?{urlencode({'import_id': import_id})}"
        self._headers = {"x-api-key": key, "content-type": "application/x-ndjson"}
        self._began = time.monotonic()
        self._silence = f"the collector at {address.netloc} does not answer; waiting"
        self._say = say

    def send(self, items: Sequence[bytes]) -> Reply:
        """Send until there is an answer that stands; NotSent when none comes for long."""
        until, pause, told = time.monotonic() + PATIENCE_SECONDS, 0.1, False
        while True:
            status, reply, retry_after = self._once(b"\n".join(items))
            if status == 200 or reply.code == "NO_ITEM_ACCEPTED":
                return reply
            if not self._may_pass(status) or time.monotonic() > until:
                raise NotSent(reply.message or f"the collector answers {status}")
            if status == 0 and not told:
                self._say(self._silence)
                told = True
            time.sleep(min(retry_after or pause, LONGEST_PAUSE))
            pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        self._connection.close()

    def _may_pass(self, status: int) -> bool:
        young = time.monotonic() - self._began < NEW_SECONDS
        return status in PASSING or status == 0 or (status in STRANGE and young)

    def _once(self, body: bytes) -> tuple[int, Reply, float]:
        try:
            self._connection.request("POST", self._target, body, self._headers)
            answer = self._connection.getresponse()
            said = answer.read()
            waits = float(answer.headers.get("retry-after") or 0)
            return answer.status, msgspec.json.decode(said, type=Reply), waits
        except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
            self._connection.close()  # the next request opens it again
            return 0, Reply(message=f"no answer from the collector: {error!r}"), 0.0
