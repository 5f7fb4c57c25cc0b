"""Traffic of a shop over three months: what visitors did, decided before anything is sent.

Where a visit comes from is written here, so that no expected number reads it from a response.
Later page views of a visit have referrers and sometimes a campaign of their own, which must not
change where the visit came from.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from tests.flow.tenant import CHROME_USER_AGENT, IPHONE_USER_AGENT

TODAY = datetime.now(UTC).date()
FIRST_DAY = TODAY - timedelta(days=100)
FIRST_LIVE_DAY = TODAY - timedelta(days=5)
"""Visits from this day on are sent as they happen; those before are imported."""
LAST_DAY = TODAY - timedelta(days=1)
MINUTE = 60_000
DAY_MS = 86_400_000

FIREFOX_USER_AGENT = (
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
)
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


class Source(Struct, frozen=True):
    """Where a visit comes from: what is sent with its first view, and what that means."""

    channel: str
    referrer: str | None = None
    referrer_name: str = "Direct"
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None

    @property
    def query(self) -> str:
        """The campaign parameters as they stand in the address of the landing page."""
        parts = {name: getattr(self, name) for name in ("utm_source", "utm_medium", "utm_campaign")}
        there = "&".join(f"{name}={quote(text)}" for name, text in parts.items() if text)
        return f"?{there}" if there else ""


class Device(Struct, frozen=True):
    """A user agent, and what it says."""

    agent: str
    type: str
    browser: str


DIRECT = Source("Direct")
SOURCES = (
    DIRECT,
    DIRECT,
    Source("Organic Search", "https://www.google.com/", "Google"),
    Source("Organic Search", "https://www.google.com/", "Google"),
    Source("Organic Social", "https://t.co/abc", "X"),
    Source("Referral", "https://partner.example/list", "partner.example"),
    Source("Email", None, "Direct", "news", "email", "Nov Sale"),
    Source("Paid Search", "https://www.google.com/", "Google", "google", "cpc", "brand"),
    Source("Paid Search", "https://www.google.com/", "Google", "google", "cpc", "bläck"),
)
DEVICES = (
    Device(CHROME_USER_AGENT, "desktop", "Chrome"),
    Device(IPHONE_USER_AGENT, "mobile", "Safari"),
    Device(FIREFOX_USER_AGENT, "desktop", "Firefox"),
)
COUNTRIES = {"Europe/Berlin": "DE", "America/New_York": "US", "Asia/Kolkata": "IN"}
PATHS = ("/", "/", "/pricing", "/docs", "/blog/ü ñ", "/cart")
SEARCHES = ("shoes", "=1+1", 'say "hi"')


class Visit(Struct, frozen=True):
    """One visit, as it was decided."""

    website: str
    visitor: str
    session: str
    source: Source
    device: Device
    timezone: str
    entry_page: str
    exit_page: str

    @property
    def country(self) -> str:
        return COUNTRIES[self.timezone]


class Act(Struct, frozen=True):
    """One thing that happened in a visit: `route` is where it is sent, `item` its own fields."""

    ms: int
    visit: Visit
    route: str
    path: str
    item: dict[str, Any]

    @property
    def name(self) -> str | None:
        return self.item.get("name")

    @property
    def is_view(self) -> bool:
        return self.name == "screen_view"

    @property
    def properties(self) -> dict[str, Any]:
        found: dict[str, Any] = self.item.get("properties", {})
        return found


def first_ms(day: date) -> int:
    """The first millisecond of a day of UTC."""
    return round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


class Traffic:
    """Everything that happens, in the order of time."""

    def __init__(self, seed: int = 7, visitors: int = 90, visits: int = 420) -> None:
        self._random = random = Random(seed)
        people = [
            (f"u{number}", random.choice(DEVICES), random.choice(tuple(COUNTRIES)))
            for number in range(visitors)
        ]
        self.acts: list[Act] = []
        for number in range(visits):
            who, device, zone = random.choice(people)
            over = number % 30 == 7
            begin = first_ms(FIRST_LIVE_DAY) - 5_000 if over else self._begin()
            pages = random.choices(PATHS, k=3 if over else random.choice((1, 1, 1, 2, 3, 5)))
            website = "blog" if number % 12 == 0 else "shop"
            self.acts += self._visit(
                Visit(
                    website,
                    who,
                    f"s{number}",
                    random.choice(SOURCES),
                    device,
                    zone,
                    pages[0],
                    pages[-1],
                ),
                pages,
                begin,
            )
        self.acts.sort(key=lambda act: act.ms)

    def _begin(self) -> int:
        """Half of the visits are of the live days; every ninth begins minutes before midnight."""
        random = self._random
        recent = random.random() < 0.5
        start, end = (FIRST_LIVE_DAY, TODAY) if recent else (FIRST_DAY, FIRST_LIVE_DAY)
        day = start + timedelta(days=random.randrange((end - start).days))
        last = day == LAST_DAY
        if random.random() < 0.11 and not last:
            return first_ms(day) + DAY_MS - random.randrange(1, 4 * MINUTE)
        return first_ms(day) + random.randrange(DAY_MS - 90 * MINUTE)

    def _visit(self, visit: Visit, pages: Sequence[str], at: int) -> Iterator[Act]:
        random = self._random
        for number, path in enumerate(pages):
            yield Act(at, visit, "/track", path, self._view(visit.source, number))
            for _ in range(random.choice((0, 0, 1))):
                at += random.choice((1_000, 2_500, 30_000))
                yield Act(at, visit, "/track", path, self._event())
            yield from self._reports(at, visit, path)
            seen = random.choice((4_000, 9_999, 10_000, 61_500, 300_000))
            at += seen
            if random.random() < 0.7:
                yield Act(at, visit, "/track", path, self._exit(seen))
            at += random.choice((1, 400))

    def _view(self, source: Source, number: int) -> dict[str, Any]:
        if number == 0:
            return {"name": "screen_view", "referrer": source.referrer, "query": source.query}
        if self._random.random() < 0.15:
            late = Source("Organic Social", None, "Direct", "x", "social", "late")
            return {"name": "screen_view", "referrer": "https://t.co/z", "query": late.query}
        return {"name": "screen_view", "referrer": "https://shop.example/"}

    def _exit(self, seen_ms: int) -> dict[str, Any]:
        random = self._random
        return {
            "name": "page_exit",
            "time_on_page": seen_ms / 1000,
            "scroll_depth": random.choice((25, 50, 100)),
            "load_time": random.choice((120, 800, 2_999)),
        }

    def _event(self) -> dict[str, Any]:
        """A custom event, or a click on a link to somewhere else."""
        random = self._random
        paid: dict[str, Any] = {
            "total": random.choice((9.9, 49.5, 100, 250.25)),
            "currency": random.choice(("EUR", "EUR", "USD")),
        }
        if random.random() < 0.4:
            paid["coupon"] = random.choice(("XMAS", "WELCOME"))
        events: list[dict[str, Any]] = [
            {"name": "signup", "properties": {"plan": random.choice(("pro", "free"))}},
            {"name": "purchase", "properties": paid},
            {"name": "purchase", "properties": paid},
            {"name": "search", "properties": {"query": random.choice(SEARCHES)}},
            {"name": "file_download", "properties": {"file": "list.pdf", "extension": "pdf"}},
            {"name": "not_found"},
            {"name": "outbound_click", "href": "https://bank.example/pay", "text": "Pay"},
            {"name": "outbound_click", "href": "https://docs.example/a", "text": "Docs"},
        ]
        return random.choice(events)

    def _reports(self, at: int, visit: Visit, path: str) -> Iterator[Act]:
        """Vitals, errors and engagement of a page; imports do not have any."""
        random = self._random
        if at < first_ms(FIRST_LIVE_DAY):
            return
        for name, values in (
            ("LCP", (1_200, 2_500, 4_100.5)),
            ("CLS", (0.02, 0.1, 0.31)),
            ("INP", (80, 200, 501)),
        ):
            if random.random() < 0.5:
                measured = {"metricName": name, "metricValue": random.choice(values)}
                yield Act(at + 20, visit, "/vitals", path, measured)
        if random.random() < 0.25:
            message, error_type = random.choice((("x is undefined", "TypeError"), ("boom", None)))
            error = {"message": message, "errorType": error_type, "lineno": 12}
            yield Act(at + 30, visit, "/errors", path, error)
        if random.random() < 0.5:
            fields = random.choice((0, 2))
            used = {
                "rageClickCount": random.choice((0, 0, 1)),
                "interactionCount": random.choice((0, 3)),
                "formFieldCount": fields,
                "formSubmitCount": random.choice((0, 1)) if fields else 0,
                "timeOnPage": 30,
            }
            yield Act(at + 40, visit, "/engagement", path, used)
