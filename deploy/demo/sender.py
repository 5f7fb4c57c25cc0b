"""Sends visits to a collector as their browsers would: over its own HTTP endpoints."""

import http.client
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from deploy.demo.traffic import Visit

SENDERS = 4
ROUND = 40
"""Visits that are under way before progress is told."""
PATIENCE_SECONDS = 30.0
# 401 and 403 are the collector not having read the new website from the registry yet.
PASSING = frozenset({401, 403, 404, 429, 503})

Stopped = Callable[[], bool]


class NotSent(Exception):
    """The collector refused or did not answer; the message says what it said."""


class Target(Struct, frozen=True):
    """Where visits go."""

    collect_url: str
    website_id: str
    slug: str


class Sent(Struct, frozen=True):
    """How much has been sent."""

    visits: int
    of: int
    items: int
    clicks: int


def send_all(
    target: Target, visits: Sequence[Visit], stopped: Stopped, rate: float = 0
) -> Iterator[Sent]:
    """Send the visits in rounds and tell after each; at most `rate` items a second (0: any)."""
    begun, done, items, clicks = time.monotonic(), 0, 0, 0
    with ThreadPoolExecutor(SENDERS) as senders:
        for number in range(0, len(visits), ROUND):
            if stopped():
                return
            these = visits[number : number + ROUND]
            shares = [these[sender::SENDERS] for sender in range(SENDERS)]
            list(senders.map(_send_share, itertools.repeat(target), shares))
            done += len(these)
            items += sum(visit.items for visit in these)
            clicks += sum(visit.by_link for visit in these)
            yield Sent(done, len(visits), items, clicks)
            if rate:
                time.sleep(max(0.0, begun + items / rate - time.monotonic()))


def _send_share(target: Target, share: Sequence[Visit]) -> None:
    address = urlsplit(target.collect_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        for visit in share:
            for method, path, items in _requests(target, visit):
                _send(connection, method, path, items, _headers(visit))
    finally:
        connection.close()


def _requests(target: Target, visit: Visit) -> Iterator[tuple[str, str, Sequence[Any]]]:
    client = urlencode({"client_id": target.website_id})
    if visit.by_link:
        yield "GET", f"/l/{target.slug}", ()
    yield "POST", f"/track?{urlencode({'website_id': target.website_id})}", visit.events
    if visit.vitals:
        yield "POST", f"/vitals?{client}", visit.vitals
    if visit.errors:
        yield "POST", f"/errors?{client}", visit.errors


def _headers(visit: Visit) -> dict[str, str]:
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
    """Send one request; wait while the collector asks for patience."""
    body = msgspec.json.encode(items) if items else None
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise NotSent(f"{method} {path}: {error}") from None
        if answer.status < 400:
            return
        if answer.status not in PASSING or time.monotonic() > until:
            raise NotSent(f"{method} {path}: {answer.status} {said[:200].decode(errors='replace')}")
        time.sleep(0.5)
