"""Hypothesis strategy for posted requests: a few visitors, a server and two bots.

The requests contain duplicates of earlier ones, late items, invalid items and items without ids.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from msgspec import Struct

from schemas.tables import ERRORS, EVENTS, VITALS, Table

DAY_MS = 86_400_000
MINUTE = 60_000

MAILED = "https://shop.example/?utm_source=news&utm_medium=email"

PAGES: Mapping[str, str] = {
    "https://shop.example": "/",
    MAILED: "/",
    "https://www.shop.example/a/": "/a",
    "https://shop.example/a?x=1#part": "/a",
    "https://shop.example/a%20b/%C3%BC": "/a b/ü",
    "/cart/": "/cart",
}
"""Path of a page, as it is sent."""

DIRECT = ("Direct", "Direct", "Direct")
REFERRERS: Mapping[str | None, tuple[str, str, str]] = {
    None: DIRECT,
    "": DIRECT,
    "https://blog.shop.example/post": DIRECT,
    "https://www.google.com/search?q=x": (
        "https://www.google.com/search",
        "Google",
        "Organic Search",
    ),
    "https://t.co/abc": ("https://t.co/abc", "X", "Organic Social"),
}
"""Referrer, its name and its channel."""


class Agent(Struct, frozen=True):
    """A user agent, and what it says."""

    text: str
    browser: str
    version: str
    system: str | None
    system_version: str | None
    device: str | None
    program: bool = False
    reason: str | None = None
    """Reason of a program's bot flag."""


AGENTS = (
    Agent(
        "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "Firefox",
        "140",
        "Linux",
        None,
        "desktop",
    ),
    Agent(
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 "
        "(KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
        "Safari",
        "18.5",
        "iOS",
        "18.5",
        "mobile",
    ),
    Agent(
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Googlebot",
        "2.1",
        None,
        None,
        None,
        program=True,
        reason="search: Googlebot",
    ),
)

ZONES: Mapping[str | None, tuple[str | None, str | None]] = {
    None: (None, None),
    "Europe/Berlin": ("Europe/Berlin", "DE"),
    "Asia/Calcutta": ("Asia/Kolkata", "IN"),
}
"""Time zone, as it is sent: its present name and its country."""

GOOD: Mapping[str, Sequence[Any]] = {"/track": (), "/vitals": (), "/errors": ()}
TABLES: Mapping[str, Table] = {"/track": EVENTS, "/vitals": VITALS, "/errors": ERRORS}

BAD: Mapping[str, Sequence[Any]] = {
    "/track": ({}, {"name": ""}, {"name": "x", "timestamp": "soon"}, {"name": 7}, 12),
    "/vitals": ({"path": "/"}, {"path": "/", "metricName": "XYZ", "metricValue": 1}),
    "/errors": ({"path": "/"}, {"message": None}),
}


class Post(Struct, frozen=True):
    """One request."""

    at_ms: int
    path: str
    website: str
    items: Sequence[Any]
    agent: Agent
    address: str
    trusted: bool = False


class Person(Struct):
    """Who sends: with ids, with a visitor's id alone, or with none."""

    number: int
    agent: Agent
    visitor: str | None
    sessions: bool
    at_ms: int

    @property
    def address(self) -> str:
        return f"203.0.{self.number}.9"


def post_strategy(begin_ms: int, seed: int = 1, posts: int = 160) -> list[Post]:
    """Requests in the order in which they are sent."""
    random = Random(seed)
    people = [
        Person(
            number,
            AGENTS[2] if number == 4 else random.choice(AGENTS[:2]),
            f"u{number}" if number % 3 else None,
            sessions=number % 2 == 1,
            at_ms=begin_ms + random.randint(0, 5 * MINUTE),
        )
        for number in range(12)
    ]
    sent: list[Post] = []
    for _ in range(posts):
        person = min(people, key=lambda each: each.at_ms)
        sent.append(_post(random, person, sent))
        person.at_ms += random.choice((40, 900, 5_000, 11_000, MINUTE, 12 * MINUTE, 31 * MINUTE))
    return sent


def _post(random: Random, person: Person, sent: Sequence[Post]) -> Post:
    path = random.choice(("/track", "/track", "/track", "/vitals", "/errors"))
    website = random.choice(("shop",) * 6 + ("blog", "rival"))
    trusted = person.number == 5 and website != "rival"
    items = [_item(random, person, path) for _ in range(random.choice((1, 1, 2, 4)))]
    if random.random() < 0.3:
        items += _copies(random, person, path, website, sent)
    if random.random() < 0.2:
        items.insert(random.randint(0, len(items)), random.choice(BAD[path]))
    return Post(person.at_ms, path, website, items, person.agent, person.address, trusted)


def _copies(
    random: Random, person: Person, path: str, website: str, sent: Sequence[Post]
) -> list[Any]:
    """Items that the same person has sent before, as a tracker does that got no answer."""
    before = [
        item
        for post in sent[-60:]
        if (post.path, post.website, post.address) == (path, website, person.address)
        for item in post.items
        if isinstance(item, dict) and "eventId" in item
    ]
    return random.sample(before, min(len(before), random.choice((1, 2))))


def _item(random: Random, person: Person, path: str) -> dict[str, Any]:
    item: dict[str, Any] = {"eventId": f"e{random.getrandbits(60)}"}
    if random.random() < 0.2:
        del item["eventId"]
    if person.visitor:
        item["anonymousId"] = person.visitor
    if person.sessions:
        item["sessionId"] = f"s{person.number}-{person.at_ms // (3 * 60 * MINUTE)}"
    if (late := random.choice((0, 0, 0, 0, 3_000, 2 * DAY_MS, 9 * DAY_MS, -9 * MINUTE))) != 0:
        item["timestamp"] = person.at_ms - late
    return item | OWN[path](random)


def _event(random: Random) -> dict[str, Any]:
    zone = random.choice(tuple(ZONES))
    page = {"path": random.choice(tuple(PAGES)), "timezone": zone}
    if random.random() < 0.6:
        return {"name": "screen_view", "referrer": random.choice(tuple(REFERRERS)), **page}
    if random.random() < 0.3:
        return {"name": "page_exit", "time_on_page": random.choice((1, 9.9999, 10, 75.5)), **page}
    return {"name": random.choice(("signup", "köp")), "properties": {"plan": "pro"}, **page}


def _vital(random: Random) -> dict[str, Any]:
    name, value = random.choice((("LCP", 2500), ("CLS", 0.1001), ("INP", 200)))
    return {"metricName": name, "metricValue": value, "path": random.choice(tuple(PAGES))}


def _error(random: Random) -> dict[str, Any]:
    return {
        "message": random.choice(("boom", "Boom")),
        "lineno": random.choice((None, 0, 12)),
        "path": random.choice(tuple(PAGES)),
    }


OWN = {"/track": _event, "/vitals": _vital, "/errors": _error}
