"""Traffic as diverse as that of real websites, from a seed: agents, addresses, pages, visitors.

20,000 agents (browsers with and without client hints, apps' own browsers, phones by model,
televisions, two of a hundred crawlers), 50,000 addresses and 5,000 pages. Few of each are common
and most are rare: the k-th is drawn about 1/k as often as the first (Zipf).
"""

import json
import random
from collections.abc import Callable, Sequence

from crawleruseragents import CRAWLER_USER_AGENTS_DATA
from msgspec import Struct

from schemas.envelope import Envelope, encode_envelope
from stream.enrich.rules.geo_database import is_reserved

AGENTS = 20_000
ADDRESSES = 50_000
PAGES = 5_000
VISITORS = 200_000
CRAWLERS = 0.02
EVENTS = (1, 1, 1, 2, 2, 3, 4, 6, 8, 12)
"""In a request, each as often as the next: 4 on average."""

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
APPLE = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
MODELS = (
    "SM-S911B",
    "SM-A546B",
    "SM-A155F",
    "Pixel 8",
    "Pixel 7a",
    "M2101K6G",
    "CPH2557",
    "RMX3269",
)
REFERRERS = (
    *(None, None, None),
    "https://www.google.com/",
    "https://www.google.de/",
    "https://t.co/x",
    "https://chatgpt.com/",
)
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Calcutta", "America/Sao_Paulo")
SCREENS = ("1920x1080", "390x844", "2560x1440", "360x800", "1536x864", "1440x900", "412x915")

LISTED = [agent for entry in CRAWLER_USER_AGENTS_DATA for agent in entry["instances"]]

Agent = tuple[str, dict[str, str]]
"""User agent and client hints."""


class Visitor(Struct, frozen=True):
    """Attributes of a visitor, the same in all events."""

    number: int
    agent: Agent
    address: str
    zone: str
    screen: str
    viewport: str


def often(chance: random.Random, most: int) -> int:
    """A number below `most`, the k-th about 1/k as often as the first."""
    return int((most + 1) ** chance.random()) - 1


def a_chrome(chance: random.Random) -> Agent:
    """Chrome or a browser of its family on a desktop, with the hints that it sends."""
    version = 141 - often(chance, 30)
    system, platform = chance.choice(
        (
            ("Windows NT 10.0; Win64; x64", "Windows"),
            ("Macintosh; Intel Mac OS X 10_15_7", "macOS"),
            ("X11; Linux x86_64", "Linux"),
        )
    )
    brand = chance.choice(("Google Chrome", "Google Chrome", "Microsoft Edge", "Brave", "Opera"))
    hints = {
        "sec-ch-ua": f'"{brand}";v="{version}", "Not?A_Brand";v="8", "Chromium";v="{version}"',
        "sec-ch-ua-mobile": "?0",
        "sec-ch-ua-platform": f'"{platform}"',
    }
    if chance.random() < 0.3:
        hints["sec-ch-ua-platform-version"] = f'"{chance.randrange(10, 20)}.{often(chance, 8)}.0"'
    return f"Mozilla/5.0 ({system}) {WEBKIT} Chrome/{version}.0.0.0 Safari/537.36", hints


def an_iphone(chance: random.Random) -> Agent:
    major, minor = 18 - often(chance, 4), often(chance, 7)
    return (
        f"Mozilla/5.0 (iPhone; CPU iPhone OS {major}_{minor} like Mac OS X) {APPLE} "
        f"Version/{major}.{minor} Mobile/15E148 Safari/604.1"
    ), {}


def an_app(chance: random.Random) -> Agent:
    """A page in an app's own browser; the app's version and the phone's tell much."""
    version, build = 430 - often(chance, 60), often(chance, 90)
    if chance.random() < 0.5:
        return (
            f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_{often(chance, 7)}_2 like Mac OS X) {APPLE} "
            f"Mobile/22G{build} [FBAN/FBIOS;FBAV/{version}.0.0.{build};FBDV/iPhone15,2;FBSV/18.6.2]"
        ), {}
    model = chance.choice(MODELS)
    return (
        f"Mozilla/5.0 (Linux; Android {15 - often(chance, 6)}; {model} Build/UP1A.{build}; wv) "
        f"{WEBKIT} Version/4.0 Chrome/{141 - often(chance, 30)}.0.7390.{build} Mobile "
        f"Safari/537.36 Instagram {version}.0.0.{build} Android ({model})"
    ), {}


def a_phone(chance: random.Random) -> Agent:
    """A phone or tablet that still names its model."""
    mobile = "Mobile " if chance.random() < 0.9 else ""
    return (
        f"Mozilla/5.0 (Linux; Android {15 - often(chance, 8)}; "
        f"{chance.choice(MODELS)}{often(chance, 40)}) {WEBKIT} "
        f"Chrome/{141 - often(chance, 60)}.0.{often(chance, 90)}.0 {mobile}Safari/537.36"
    ), {}


def a_firefox(chance: random.Random) -> Agent:
    version = 144 - often(chance, 60)
    system = chance.choice(
        ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Android 14; Mobile")
    )
    return f"Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0", {}


def a_television(chance: random.Random) -> Agent:
    return (
        f"Mozilla/5.0 (Linux; Android 9; AFT{chance.choice('MNST')}{often(chance, 40)}) {WEBKIT} "
        f"Silk/139.{often(chance, 90)}.1 like Chrome/139.0.0.0 Safari/537.36"
    ), {}


def a_crawler(chance: random.Random) -> Agent:
    return chance.choice(LISTED), {}


AGENT_KINDS: Sequence[tuple[Callable[[random.Random], Agent], float]] = (
    (a_chrome, 0.35), (an_iphone, 0.1), (an_app, 0.25), (a_phone, 0.2), (a_firefox, 0.06),
    (a_television, 0.02), (a_crawler, CRAWLERS),
)  # fmt: skip
"""Makers of agents, and which share of the agents each makes."""


class Request(Struct, frozen=True):
    """A sealed envelope, and how many events it holds."""

    body: bytes
    events: int


class DiverseTraffic:
    """Who visits, from where, and which pages."""

    def __init__(self, seed: int = 7) -> None:
        self.chance = random.Random(seed)
        self.agents = self._agents()
        self.addresses = self._addresses()
        self.pages = [self._page(number) for number in range(PAGES)]

    def visitor(self) -> Visitor:
        """The visitor of a number, always the same."""
        number = often(self.chance, VISITORS)
        own = random.Random(number)
        return Visitor(
            number,
            self.agents[often(own, AGENTS)],
            self.addresses[often(own, ADDRESSES)],
            own.choice(ZONES),
            own.choice(SCREENS),
            f"{300 + often(own, 1700)}x{400 + often(own, 800)}",
        )

    def item(self, who: Visitor, now: int) -> dict[str, object]:
        """A page view as a browser's tracker sends it; some 690 bytes."""
        chance, page = self.chance, often(self.chance, PAGES)
        return {
            "name": chance.choice(("screen_view", "screen_view", "add_to_cart", "search")),
            "eventId": f"{chance.getrandbits(128):032x}",
            "anonymousId": f"anon_{who.number:026x}",
            "sessionId": f"sess_{who.number * 3 + chance.randrange(3):026x}",
            "timestamp": now - chance.randrange(4000),
            "path": self.pages[page],
            "title": f"Product {page} – The Shop",
            "referrer": chance.choice((*REFERRERS, f"https://blog.example/{often(chance, 900)}")),
            "timezone": who.zone,
            "language": "en-US",
            "screen_resolution": who.screen,
            "viewport_size": who.viewport,
            "time_on_page": round(chance.random() * 90, 2),
            "scroll_depth": chance.randrange(100),
            "properties": {"price": chance.randrange(9000) / 100, "currency": "EUR", "sku": "A-17"},
        }

    def request(self, now: int, events: int | None = None) -> Request:
        """One visitor's request as an envelope, of so many events or of as many as come."""
        who, count = self.visitor(), events or self.chance.choice(EVENTS)
        agent, hints = who.agent
        body = encode_envelope(
            Envelope(
                subject_id=f"web_{often(self.chance, 20):04}",
                organization_id="org_1",
                received_ms=now,
                count=count,
                items=json.dumps([self.item(who, now) for _ in range(count)]).encode(),
                client_network=who.address,
                user_agent=agent,
                headers={
                    "accept-language": "en-US,en;q=0.9",
                    "origin": "https://shop.example",
                    **hints,
                },
            )
        )
        return Request(body, count)

    def _agents(self) -> list[Agent]:
        """As many as there are to be, none twice; in any order, as popularity is."""
        makers, shares = zip(*AGENT_KINDS, strict=True)
        found: dict[str, Agent] = {}
        while len(found) < AGENTS:
            (make,) = self.chance.choices(makers, shares)
            agent = make(self.chance)
            found.setdefault(json.dumps(agent), agent)
        return list(found.values())

    def _addresses(self) -> list[str]:
        """Cut addresses, one of five IPv6."""
        found: dict[str, None] = {}
        while len(found) < ADDRESSES:
            number = self.chance.getrandbits(32)
            a, b, c = number >> 24, (number >> 16) & 255, (number >> 8) & 255
            four = f"{a}.{b}.{c}.0"
            address = four if number % 5 else f"2a{a % 16:02x}:{b:x}{c:02x}:{c:x}::"
            if not is_reserved(address):
                found[address] = None
        return list(found)

    def _page(self, number: int) -> str:
        folder = self.chance.choice(("products", "blog", "help", "team"))
        query = self.chance.choice(
            ("", "", "?page=2", "?utm_source=google&utm_medium=cpc", "?ref=x")
        )
        return f"https://shop.example/{folder}/{number}{query}"
