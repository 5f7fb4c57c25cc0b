"""Who visits the demo website, with what, from where and whence: values with their weights."""

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
