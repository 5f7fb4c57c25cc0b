"""Items that the client sends to the collector."""

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from query.client.connection import HttpClient

_MOST_ITEMS = 500
"""Items of one request to the collector."""

Items = Mapping[str, Any] | Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Sent:
    """Accepted and rejected items."""

    count: int
    rejected: list[dict[str, Any]] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    """One for each request; `Client.receipt` has the status of its items."""


class ItemClient(HttpClient):
    """Sends items; each gets an `eventId` unless it has one, so that a retry stores it once."""

    def track(self, events: Items, website_id: str | None = None) -> Sent:
        """Send events."""
        return self._send("/track", events, website_id)

    def vitals(self, items: Items, website_id: str | None = None) -> Sent:
        """Send web vitals."""
        return self._send("/vitals", items, website_id)

    def errors(self, items: Items, website_id: str | None = None) -> Sent:
        """Send reports of errors."""
        return self._send("/errors", items, website_id)

    def identify(
        self,
        profile_id: str,
        traits: Mapping[str, Any] | None = None,
        website_id: str | None = None,
        **more: Any,
    ) -> Sent:
        """Say whose visitor it is: your id of the person, with traits; `anonymousId` in `more`."""
        item = {"profileId": profile_id, "traits": traits or {}, **more}
        return self._send("/identify", [item], website_id)

    def _send(self, path: str, given: Items, website_id: str | None) -> Sent:
        items = [given] if isinstance(given, Mapping) else list(given)
        now = time.time_ns() // 1_000_000
        named = [{"eventId": uuid.uuid4().hex, "timestamp": now, **item} for item in items]
        count = 0
        rejected: list[dict[str, Any]] = []
        receipts: list[str] = []
        for start in range(0, len(named), _MOST_ITEMS):
            part = named[start : start + _MOST_ITEMS]
            where = {"website_id": website_id}
            response = self._json("POST", path, part, where, collect=True)
            count += response["count"]
            receipts.append(response["receipt"])
            refused = response.get("rejected", ())
            rejected += [{**each, "index": start + each["index"]} for each in refused]
        return Sent(count, rejected, receipts)
