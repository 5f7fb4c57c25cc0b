"""Generates visits for a time range, deterministic by seed."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from msgspec import Struct


class DemoDevice(Struct, frozen=True):
    """A browser on a machine."""

    weight: int
    user_agent: str
    screen: str
    viewport: str
    load_factor: float = 1.0
    """Load times relative to a fast device."""


class DemoLocation(Struct, frozen=True):
    """Country, time zone and language of visitors."""

    weight: int
    country: str
    timezone: str
    language: str


class TrafficSource(Struct, frozen=True):
    """Referrer and campaign of a session."""

    weight: int
    referrer: str | None
    campaign: dict[str, str] = {}


class DemoPage(Struct, frozen=True):
    """A page of the demo website."""

    weight: int
    path: str
    title: str


_MOZILLA = "Mozilla/5.0"
_WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
_WINDOWS = f"{_MOZILLA} (Windows NT 10.0; Win64; x64)"
_MAC = f"{_MOZILLA} (Macintosh; Intel Mac OS X 10_15_7)"
_IPHONE = f"{_MOZILLA} (iPhone; CPU iPhone OS 18_6 like Mac OS X)"
_IPAD = f"{_MOZILLA} (iPad; CPU OS 18_6 like Mac OS X)"
_ANDROID = f"{_MOZILLA} (Linux; Android 10; K)"
_APPLE = "AppleWebKit/605.1.15 (KHTML, like Gecko)"

_CHROME = f"{_WEBKIT} Chrome/142.0.0.0 Safari/537.36"
_CHROME_MOBILE = f"{_WEBKIT} Chrome/142.0.0.0 Mobile Safari/537.36"
_SAFARI = f"{_APPLE} Version/18.6"
_FIREFOX = "rv:145.0) Gecko/20100101 Firefox/145.0"
BOT_USER_AGENT = f"{_MOZILLA} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"

DEMO_DEVICES = (
    DemoDevice(26, f"{_WINDOWS} {_CHROME}", "1920x1080", "1903x947"),
    DemoDevice(8, f"{_WINDOWS} {_CHROME}", "1536x864", "1519x730"),
    DemoDevice(7, f"{_WINDOWS} {_CHROME} Edg/142.0.0.0", "2560x1440", "2543x1290"),
    DemoDevice(5, f"{_MOZILLA} (X11; Linux x86_64; {_FIREFOX}", "1920x1080", "1920x938"),
    DemoDevice(4, f"{_WINDOWS[:-1]}; {_FIREFOX}", "1920x1080", "1905x945"),
    DemoDevice(9, f"{_MAC} {_CHROME}", "1512x982", "1512x823"),
    DemoDevice(8, f"{_MAC} {_SAFARI} Safari/605.1.15", "1440x900", "1440x789"),
    DemoDevice(17, f"{_IPHONE} {_SAFARI} Mobile/15E148 Safari/604.1", "393x852", "393x659", 1.3),
    DemoDevice(14, f"{_ANDROID} {_CHROME_MOBILE}", "412x915", "412x785", 1.9),
    DemoDevice(2, f"{_IPAD} {_SAFARI} Mobile/15E148 Safari/604.1", "820x1180", "820x1066", 1.2),
    DemoDevice(2, BOT_USER_AGENT, "412x732", "412x732"),
)

LOCATIONS = (
    DemoLocation(30, "US", "America/New_York", "en-US"),
    DemoLocation(9, "US", "America/Los_Angeles", "en-US"),
    DemoLocation(14, "DE", "Europe/Berlin", "de-DE"),
    DemoLocation(10, "GB", "Europe/London", "en-GB"),
    DemoLocation(8, "IN", "Asia/Kolkata", "en-IN"),
    DemoLocation(7, "FR", "Europe/Paris", "fr-FR"),
    DemoLocation(5, "NL", "Europe/Amsterdam", "nl-NL"),
    DemoLocation(5, "CA", "America/Toronto", "en-CA"),
    DemoLocation(4, "BR", "America/Sao_Paulo", "pt-BR"),
    DemoLocation(4, "JP", "Asia/Tokyo", "ja-JP"),
    DemoLocation(2, "AU", "Australia/Sydney", "en-AU"),
    DemoLocation(2, "ZA", "Africa/Johannesburg", "en-ZA"),
)

TRAFFIC_SOURCES = (
    TrafficSource(34, None),
    TrafficSource(27, "https://www.google.com/"),
    TrafficSource(4, "https://duckduckgo.com/"),
    TrafficSource(4, "https://www.bing.com/"),
    TrafficSource(7, "https://news.ycombinator.com/"),
    TrafficSource(5, "https://www.reddit.com/r/selfhosted/"),
    TrafficSource(4, "https://t.co/a1b2c3d4"),
    TrafficSource(4, "https://www.linkedin.com/"),
    TrafficSource(4, "https://github.com/"),
    TrafficSource(
        6,
        None,
        {"utm_source": "newsletter", "utm_medium": "email", "utm_campaign": "november-release"},
    ),
    TrafficSource(
        5,
        "https://www.google.com/",
        {
            "utm_source": "google",
            "utm_medium": "cpc",
            "utm_campaign": "brand",
            "utm_term": "open analytics",
        },
    ),
)

DEMO_PAGES = (
    DemoPage(30, "/", "Demo: analytics you can read"),
    DemoPage(16, "/pricing", "Pricing"),
    DemoPage(12, "/features", "Features"),
    DemoPage(12, "/docs", "Documentation"),
    DemoPage(8, "/docs/install", "Install"),
    DemoPage(6, "/docs/events", "Track events"),
    DemoPage(5, "/blog", "Blog"),
    DemoPage(8, "/blog/exactly-once", "Every event once"),
    DemoPage(5, "/blog/self-hosting", "Hosting it yourself"),
    DemoPage(3, "/signup", "Sign up"),
    DemoPage(2, "/contact", "Contact"),
)

OUTBOUND_LINKS = (
    ("https://github.com/demo-example/demo", "Source code"),
    ("https://docs.python.org/3/", "Python documentation"),
    ("https://kafka.apache.org/documentation/", "Kafka"),
    ("https://duckdb.org/docs/", "DuckDB"),
)

DEMO_ERRORS = (
    ("TypeError", "Cannot read properties of undefined (reading 'price')", "pricing.js", 118, 27),
    ("ReferenceError", "analytics is not defined", "app.js", 12, 3),
    ("NetworkError", "Failed to fetch", "search.js", 61, 9),
)

HOURLY_ACTIVITY = (
    2,
    1,
    1,
    1,
    1,
    2,
    4,
    7,
    10,
    13,
    14,
    13,
    11,
    12,
    13,
    13,
    12,
    10,
    9,
    10,
    10,
    8,
    6,
    4,
)
"""Relative traffic of each hour of the local day."""


SITE_URL = "https://demo.example"

# Metric, typical value on a fast device, decimals.
TYPICAL_VITALS = (
    ("TTFB", 180.0, 1),
    ("FCP", 820.0, 1),
    ("LCP", 1450.0, 1),
    ("INP", 72.0, 0),
    ("CLS", 0.04, 4),
)


class PageVisits:
    """Generates the items of one session, page by page."""

    def __init__(
        self,
        chance: random.Random,
        device: DemoDevice,
        place: DemoLocation,
        origin: TrafficSource,
        visitor: str,
        begin_ms: int,
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.vitals: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self._random = chance
        self._device = device
        self._place = place
        self._origin = origin
        self._visitor_fields = {
            "anonymousId": visitor,
            "sessionId": f"s_{chance.getrandbits(64):016x}",
        }
        self._now = begin_ms
        self._previous: str | None = None

    def generate(self) -> None:
        """Generate page views; most sessions with a single page are bounces."""
        pages = self._random.choices((1, 2, 3, 4, 5, 9), (48, 17, 14, 10, 7, 4))[0]
        leaves = pages == 1 and self._random.random() < 0.8
        for _ in range(pages):
            page = self._random.choices(DEMO_PAGES, [page.weight for page in DEMO_PAGES])[0]
            url = self._add_page_view(
                page, self._random.lognormvariate(1.2 if leaves else 3.2, 0.9)
            )
            self._add_vitals(url)
            if not leaves:
                self._add_interactions(page, url)

    def _add_page_view(self, page: DemoPage, seconds: float) -> str:
        first = self._previous is None
        query = f"?{urlencode(self._origin.campaign)}" if first and self._origin.campaign else ""
        url = f"{SITE_URL}{page.path}{query}"
        stay = round(min(seconds, 1800.0), 1)
        self._add_event(
            "screen_view",
            url,
            title=page.title,
            referrer=self._origin.referrer if first else self._previous,
            time_on_page=stay,
            scroll_depth=self._random.randint(10, 100),
            interaction_count=self._random.randint(0, 12),
            **self._timings(),
            **(self._origin.campaign if first else {}),
        )
        self._previous = url
        self._advance(stay)
        return url

    def _timings(self) -> dict[str, int]:
        """Load timings in milliseconds."""
        pace = self._device.load_factor * self._random.lognormvariate(0, 0.35)
        parts = {"ttfb": 180, "dom_ready_time": 700, "load_time": 1100, "render_time": 240}
        return {name: min(60_000, round(typical * pace)) for name, typical in parts.items()}

    def _add_vitals(self, url: str) -> None:
        if self._random.random() < 0.3:
            return  # this browser reports no vitals
        for metric, typical, digits in TYPICAL_VITALS:
            value = typical * self._device.load_factor * self._random.lognormvariate(0, 0.35)
            self.vitals.append(
                {
                    **self._visitor_fields,
                    "timestamp": self._now,
                    "path": url,
                    "timezone": self._place.timezone,
                    "metricName": metric,
                    "metricValue": round(value, digits),
                }
            )

    def _add_interactions(self, page: DemoPage, url: str) -> None:
        if self._random.random() < 0.09:
            href, text = self._random.choice(OUTBOUND_LINKS)
            self._add_event("outgoing_link", url, href=href, text=text)
        if page.path == "/signup" and self._random.random() < 0.4:
            plan = self._random.choices(("free", "pro", "scale"), (70, 25, 5))[0]
            self._add_event("signup", url, properties={"plan": plan, "trial": plan != "free"})
        if page.path == "/pricing" and self._random.random() < 0.06:
            amount = self._random.choice((19.0, 49.0, 490.0))
            self._add_event("purchase", url, properties={"amount": amount, "currency": "EUR"})
        if self._random.random() < 0.015:
            self._add_error(url)

    def _add_error(self, url: str) -> None:
        kind, message, script, line, column = self._random.choice(DEMO_ERRORS)
        source = f"{SITE_URL}/assets/{script}"
        self.errors.append(
            {
                **self._visitor_fields,
                "timestamp": self._now,
                "path": url,
                "timezone": self._place.timezone,
                "message": message,
                "filename": source,
                "lineno": line,
                "colno": column,
                "stack": f"{kind}: {message}\n    at {source}:{line}:{column}",
                "errorType": kind,
            }
        )

    def _add_event(self, name: str, url: str, **more: Any) -> None:
        self._advance(self._random.uniform(0.2, 2.0))
        self.events.append(
            {
                **self._visitor_fields,
                "name": name,
                "timestamp": self._now,
                "path": url,
                "language": self._place.language,
                "timezone": self._place.timezone,
                "screen_resolution": self._device.screen,
                "viewport_size": self._device.viewport,
                **{key: value for key, value in more.items() if value is not None},
            }
        )

    def _advance(self, seconds: float) -> None:
        self._now += round(seconds * 1000)


WEEKEND_FACTOR = 0.55
"""Traffic of a Saturday or Sunday relative to a working day."""

ItemJson = dict[str, Any]


class DemoVisit(Struct, frozen=True):
    """One session of one visitor, with the items that the browser sends."""

    start_ms: int
    user_agent: str
    country: str
    language: str
    referrer: str | None
    events: tuple[ItemJson, ...]
    vitals: tuple[ItemJson, ...]
    errors: tuple[ItemJson, ...]
    by_link: bool
    """Whether the session starts with a click on the short link."""

    @property
    def items(self) -> int:
        return len(self.events) + len(self.vitals) + len(self.errors)


class Weighted(Protocol):
    """A choice with a weight."""

    @property
    def weight(self) -> int: ...


WeightedT = TypeVar("WeightedT", bound=Weighted)


def generate_visits(seed: int, visitors: int, start_ms: int, end_ms: int) -> list[DemoVisit]:
    """All visits that start and end within [start, end), oldest first."""
    chance = random.Random(seed)  # noqa: S311 - generated traffic needs no secure randomness
    visits = [
        visit for _ in range(visitors) for visit in _visits_of_visitor(chance, start_ms, end_ms)
    ]
    return sorted(visits, key=lambda visit: visit.start_ms)


def _visits_of_visitor(chance: random.Random, start_ms: int, end_ms: int) -> Iterator[DemoVisit]:
    device, place = weighted_choice(chance, DEMO_DEVICES), weighted_choice(chance, LOCATIONS)
    visitor = f"anon_{chance.getrandbits(64):016x}"
    for _ in range(chance.choices((1, 2, 3, 5), (66, 20, 10, 4))[0]):
        begin = _random_instant(chance, place, start_ms, end_ms)
        visit = _visit(chance, device, place, visitor, begin)
        if all(item["timestamp"] < end_ms for item in visit.events):
            yield visit


def _visit(
    chance: random.Random, device: DemoDevice, place: DemoLocation, visitor: str, begin: int
) -> DemoVisit:
    origin = weighted_choice(chance, TRAFFIC_SOURCES)
    walk = PageVisits(chance, device, place, origin, visitor, begin)
    walk.generate()
    return DemoVisit(
        start_ms=begin,
        user_agent=device.user_agent,
        country=place.country,
        language=place.language,
        referrer=origin.referrer,
        events=tuple(walk.events),
        vitals=tuple(walk.vitals),
        errors=tuple(walk.errors),
        by_link=chance.random() < 0.08,
    )


def _random_instant(chance: random.Random, place: DemoLocation, start_ms: int, end_ms: int) -> int:
    """An instant of the span, more likely where the local day is lively."""
    zone = ZoneInfo(place.timezone)
    while True:
        instant = chance.randrange(start_ms, end_ms)
        local = datetime.fromtimestamp(instant / 1000, UTC).astimezone(zone)
        liveliness = HOURLY_ACTIVITY[local.hour] / max(HOURLY_ACTIVITY)
        if local.weekday() >= 5:
            liveliness *= WEEKEND_FACTOR
        if chance.random() < liveliness:
            return instant


def weighted_choice(chance: random.Random, values: Sequence[WeightedT]) -> WeightedT:
    """One of the values, by weight."""
    return chance.choices(values, [value.weight for value in values])[0]


def last_week(now_ms: int) -> tuple[int, int]:
    """The span of the demo: seven days that the collector will not clamp, up to now."""
    week = timedelta(days=7).total_seconds() * 1000
    return now_ms - int(week) + 600_000, now_ms
