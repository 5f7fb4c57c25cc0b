"""Expected rows: what must be stored of posted requests, by a plain reading of them.

It uses nothing of collector, stream or tables but the names of columns.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct

from tests.oracle.posted_requests import (
    BAD,
    DAY_MS,
    MAILED,
    MINUTE,
    PAGES,
    REFERRERS,
    TABLES,
    ZONES,
    Post,
)

IDLE = 30 * MINUTE
"""A visit without an id of its own ends when so long nothing happens."""

Named = tuple[Any, ...]
"""Identity of a visitor, by every distinguishing fact."""


class StoredPost(Struct, frozen=True):
    """A request that was taken, and where it lies."""

    post: Post
    partition: int
    offset: int


class Expected(Struct, frozen=True):
    """A row by its table; ids that are made on the way are known by whose they are."""

    table: str
    row: dict[str, Any]
    visitor: Named | None
    visit: Named | None

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it comes from."""
        return self.row["kafka_partition"], self.row["kafka_offset"], self.row["seq"]


class Visits:
    """Events of a visitor that are less than half an hour apart."""

    def __init__(self) -> None:
        self._known: dict[Named, list[list[int]]] = {}

    def of(self, who: Named, ms: int) -> Named:
        """The visit of an event at that time: the nearest, or a new one."""
        known = self._known.setdefault(who, [])
        near = [(distance(times, ms), n) for n, times in enumerate(known)]
        far, number = min(near, default=(IDLE, 0))
        if far >= IDLE:
            number = len(known)
            known.append([])
        known[number].append(ms)
        return *who, number


class Clocks:
    """Correction of a request's times that lie too far from its receipt."""

    def __init__(self) -> None:
        self._shifts: dict[Named, int] = {}
        """Clock corrections by website and visitor; all items of a request have one visitor."""

    def shift(self, post: Post) -> int:
        """Milliseconds to add to each time of a request."""
        items = [item for item in post.items if item not in BAD[post.path]]
        times: list[int] = [item["timestamp"] - post.at_ms for item in items if "timestamp" in item]
        if not times or max(times) - min(times) > 7 * DAY_MS:
            return 0
        if max(times) < -7 * DAY_MS:
            return -7 * DAY_MS - min(times)
        if max(times) <= 5 * MINUTE:
            return 0
        named = items[0].get("anonymousId")
        if not named:
            return -max(times)
        sender = (post.website, named)
        shift = self._shifts.get(sender, -max(times))
        if not -60 * MINUTE <= max(times) + shift <= 5 * MINUTE:
            shift = -max(times)
        self._shifts[sender] = shift
        return shift


def distance(times: Sequence[int], ms: int) -> int:
    """How far a time is from the nearest of others."""
    return min(abs(ms - each) for each in times)


def visitor(post: Post, item: Mapping[str, Any]) -> Named | None:
    """The visitor of an item: its anonymous id, else its address and user agent of the UTC day.

    Items of servers without an anonymous id have no visitor.
    """
    if "anonymousId" in item:
        return (item["anonymousId"],)
    if post.trusted:
        return None
    return post.website, post.address, post.agent.text, post.at_ms // DAY_MS


def expected(placed: Sequence[StoredPost]) -> list[Expected]:
    """Each row that must be stored, in the order of receipt."""
    known: set[tuple[str, str, str]] = set()
    visits, clocks = Visits(), Clocks()
    rows = []
    for one in placed:
        post, seq = one.post, 0
        shift = clocks.shift(post)
        for item in post.items:
            if item in BAD[post.path]:
                continue
            own = (post.path, post.website, item.get("eventId", ""))
            if not own[2] or own not in known:
                known.add(own)
                rows.append(_expected(one, item, seq, shift, visits))
            seq += 1
    return rows


def _expected(
    one: StoredPost, item: Mapping[str, Any], seq: int, shift: int, visits: Visits
) -> Expected:
    post = one.post
    row = _row(one, item, seq, shift)
    who = visitor(post, item)
    visit: Named | None = None
    if "sessionId" in item:
        visit = (item["sessionId"],)
    elif post.path == "/track" and who is not None and not row["is_bot"]:
        visit = visits.of((post.website, *who), round(row["ts"].timestamp() * 1000))
    return Expected(TABLES[post.path].name, row, who, visit)


def _row(one: StoredPost, item: Mapping[str, Any], seq: int, shift: int) -> dict[str, Any]:
    post = one.post
    table = TABLES[post.path]
    sent = item["timestamp"] + shift if "timestamp" in item else post.at_ms
    ms = min(max(sent, post.at_ms - 7 * DAY_MS), post.at_ms + 5 * MINUTE)
    row: dict[str, Any] = dict.fromkeys(column.name for column in table.columns)
    row |= {
        "website_id": post.website,
        "ts": _instant(ms),
        "received_at": _instant(post.at_ms),
        "kafka_partition": one.partition,
        "kafka_offset": one.offset,
        "seq": seq,
        "event_id": item.get("eventId"),
        "anonymous_id": item.get("anonymousId"),
        "session_id": item.get("sessionId"),
        "path": PAGES[item["path"]],
        "is_bot": post.agent.program and not post.trusted,
        "bot_reason": None if post.trusted else post.agent.reason,
        "browser_name": post.agent.browser,
        "browser_version": post.agent.version,
        "os_name": post.agent.system,
        "os_version": post.agent.system_version,
        "device_type": post.agent.device,
    }
    return row | FACTS[post.path](item)


def _instant(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _of_event(item: Mapping[str, Any]) -> dict[str, Any]:
    referrer, name, channel = REFERRERS[item.get("referrer")]
    mailed = item["path"] == MAILED
    return {
        "name": item["name"],
        "referrer": referrer,
        "referrer_name": name,
        "channel": "Email" if mailed else channel,
        "utm_source": "news" if mailed else None,
        "utm_medium": "email" if mailed else None,
        "country": ZONES[item["timezone"]][1],
        "timezone": ZONES[item["timezone"]][0],
        "time_on_page": _decimal(item.get("time_on_page")),
        "properties": '{"plan":"pro"}' if "properties" in item else None,
    }


FACTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "/track": _of_event,
    "/vitals": lambda item: {
        "metric_name": item["metricName"],
        "metric_value": _decimal(item["metricValue"]),
    },
    "/errors": lambda item: {
        "message": item["message"],
        "lineno": item["lineno"],
        "level": "error",
    },
}
