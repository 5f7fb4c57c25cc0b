"""One walk through the demo website: page views, and what happens on the pages."""

import random
from typing import Any
from urllib.parse import urlencode

from deploy.demo.visitor_profiles import ERRORS, OUTBOUND, PAGES, Device, Origin, Page, Place

SITE = "https://demo.example"

# Metric, a typical value on a fast machine, digits after the point.
METRICS = (
    ("TTFB", 180.0, 1),
    ("FCP", 820.0, 1),
    ("LCP", 1450.0, 1),
    ("INP", 72.0, 0),
    ("CLS", 0.04, 4),
)


class Walk:
    """Collects the items of one session while it wanders from page to page."""

    def __init__(
        self,
        chance: random.Random,
        device: Device,
        place: Place,
        origin: Origin,
        visitor: str,
        begin_ms: int,
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.vitals: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self._chance = chance
        self._device = device
        self._place = place
        self._origin = origin
        self._who = {"anonymousId": visitor, "sessionId": f"s_{chance.getrandbits(64):016x}"}
        self._now = begin_ms
        self._previous: str | None = None

    def wander(self) -> None:
        """View some pages; of those who see only one, most leave at once."""
        pages = self._chance.choices((1, 2, 3, 4, 5, 9), (48, 17, 14, 10, 7, 4))[0]
        leaves = pages == 1 and self._chance.random() < 0.8
        for _ in range(pages):
            page = self._chance.choices(PAGES, [page.weight for page in PAGES])[0]
            url = self._view(page, self._chance.lognormvariate(1.2 if leaves else 3.2, 0.9))
            self._measure(url)
            if not leaves:
                self._do_something(page, url)

    def _view(self, page: Page, seconds: float) -> str:
        first = self._previous is None
        query = f"?{urlencode(self._origin.campaign)}" if first and self._origin.campaign else ""
        url = f"{SITE}{page.path}{query}"
        stay = round(min(seconds, 1800.0), 1)
        self._add(
            "screen_view",
            url,
            title=page.title,
            referrer=self._origin.referrer if first else self._previous,
            time_on_page=stay,
            scroll_depth=self._chance.randint(10, 100),
            interaction_count=self._chance.randint(0, 12),
            **self._timings(),
            **(self._origin.campaign if first else {}),
        )
        self._previous = url
        self._pass(stay)
        return url

    def _timings(self) -> dict[str, int]:
        """How long the parts of loading took, in milliseconds."""
        pace = self._device.slowness * self._chance.lognormvariate(0, 0.35)
        parts = {"ttfb": 180, "dom_ready_time": 700, "load_time": 1100, "render_time": 240}
        return {name: min(60_000, round(typical * pace)) for name, typical in parts.items()}

    def _measure(self, url: str) -> None:
        if self._chance.random() < 0.3:
            return  # the browser said nothing
        for metric, typical, digits in METRICS:
            value = typical * self._device.slowness * self._chance.lognormvariate(0, 0.35)
            self.vitals.append(
                {
                    **self._who,
                    "timestamp": self._now,
                    "path": url,
                    "metricName": metric,
                    "metricValue": round(value, digits),
                }
            )

    def _do_something(self, page: Page, url: str) -> None:
        if self._chance.random() < 0.09:
            href, text = self._chance.choice(OUTBOUND)
            self._add("outgoing_link", url, href=href, text=text)
        if page.path == "/signup" and self._chance.random() < 0.4:
            plan = self._chance.choices(("free", "pro", "scale"), (70, 25, 5))[0]
            self._add("signup", url, properties={"plan": plan, "trial": plan != "free"})
        if page.path == "/pricing" and self._chance.random() < 0.06:
            amount = self._chance.choice((19.0, 49.0, 490.0))
            self._add("purchase", url, properties={"amount": amount, "currency": "EUR"})
        if self._chance.random() < 0.015:
            self._fail(url)

    def _fail(self, url: str) -> None:
        kind, message, script, line, column = self._chance.choice(ERRORS)
        source = f"{SITE}/assets/{script}"
        self.errors.append(
            {
                **self._who,
                "timestamp": self._now,
                "path": url,
                "message": message,
                "filename": source,
                "lineno": line,
                "colno": column,
                "stack": f"{kind}: {message}\n    at {source}:{line}:{column}",
                "errorType": kind,
            }
        )

    def _add(self, name: str, url: str, **more: Any) -> None:
        self._pass(self._chance.uniform(0.2, 2.0))
        self.events.append(
            {
                **self._who,
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

    def _pass(self, seconds: float) -> None:
        self._now += round(seconds * 1000)
