"""Sends generated visits to the collector over HTTP, as browsers would."""

import http.client
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from deploy.demo.traffic import DemoVisit

SENDER_THREADS = 4
VISITS_PER_ROUND = 40
"""Visits sent between two progress reports."""
RETRY_TIMEOUT_SECONDS = 30.0
# With 401 or 403 the collector has not read the new website from the registry yet.
RETRYABLE_STATUSES = frozenset({401, 403, 404, 429, 503})

IsStopped = Callable[[], bool]


class DemoSendFailed(Exception):
    """The collector rejected a request or did not respond; the message contains its response."""


class DemoTarget(Struct, frozen=True):
    """The collector, website and short link that receive the visits."""

    collect_url: str
    website_id: str
    slug: str


class SendProgress(Struct, frozen=True):
    """How much has been sent so far."""

    visits: int
    total_visits: int
    items: int
    clicks: int


def send_visits(
    target: DemoTarget, visits: Sequence[DemoVisit], stopped: IsStopped, rate: float = 0
) -> Iterator[SendProgress]:
    """Send the visits in rounds, at most `rate` items/s (0: unlimited); yields the progress."""
    started, done, items, clicks = time.monotonic(), 0, 0, 0
    with ThreadPoolExecutor(SENDER_THREADS) as senders:
        for number in range(0, len(visits), VISITS_PER_ROUND):
            if stopped():
                return
            these = visits[number : number + VISITS_PER_ROUND]
            shares = [these[sender::SENDER_THREADS] for sender in range(SENDER_THREADS)]
            list(senders.map(_send_share, itertools.repeat(target), shares))
            done += len(these)
            items += sum(visit.items for visit in these)
            clicks += sum(visit.by_link for visit in these)
            yield SendProgress(done, len(visits), items, clicks)
            if rate:
                time.sleep(max(0.0, started + items / rate - time.monotonic()))


def _send_share(target: DemoTarget, share: Sequence[DemoVisit]) -> None:
    address = urlsplit(target.collect_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        for visit in share:
            for method, path, items in _requests(target, visit):
                _send(connection, method, path, items, _headers(visit))
    finally:
        connection.close()


def _requests(target: DemoTarget, visit: DemoVisit) -> Iterator[tuple[str, str, Sequence[Any]]]:
    client = urlencode({"client_id": target.website_id})
    if visit.by_link:
        yield "GET", f"/l/{target.slug}", ()
    yield "POST", f"/track?{urlencode({'website_id': target.website_id})}", visit.events
    if visit.vitals:
        yield "POST", f"/vitals?{client}", visit.vitals
    if visit.errors:
        yield "POST", f"/errors?{client}", visit.errors


def _headers(visit: DemoVisit) -> dict[str, str]:
    headers = {
        "User-Agent": visit.user_agent,
        "Accept-Language": visit.language,
        "CF-IPCountry": visit.country,
        "Content-Type": "application/json",
    }
    return {**headers, "Referer": visit.referrer} if visit.referrer else headers


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    items: Sequence[Any],
    headers: dict[str, str],
) -> None:
    """Send one request, with retries while the collector is not ready or limits the rate."""
    body = msgspec.json.encode(items) if items else None
    until = time.monotonic() + RETRY_TIMEOUT_SECONDS
    while True:
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            body_text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise DemoSendFailed(f"{method} {path}: {error}") from None
        if response.status < 400:
            return
        if response.status not in RETRYABLE_STATUSES or time.monotonic() > until:
            raise DemoSendFailed(
                f"{method} {path}: {response.status} {body_text[:200].decode(errors='replace')}"
            )
        time.sleep(0.5)
