"""Generates one session: page views, vitals, errors and custom events."""

import random
from typing import Any
from urllib.parse import urlencode

from deploy.demo.visitor_profiles import (
    DEMO_ERRORS,
    DEMO_PAGES,
    OUTBOUND_LINKS,
    DemoDevice,
    DemoLocation,
    DemoPage,
    TrafficSource,
)

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
