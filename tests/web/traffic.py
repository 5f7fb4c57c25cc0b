"""Traffic of one day that gives every view of the dashboard something to show."""

from collections.abc import Iterator
from typing import Any

from tests.flow.tenant import CHROME_USER_AGENT, IPHONE_USER_AGENT, Tenant, at_ms
from tests.installation import eventually

Item = dict[str, Any]

VISITORS = 12
PATHS = ("/", "/pricing", "/docs", "/signup")
SOURCES = (
    "",
    "https://www.google.com/",
    "https://news.ycombinator.com/",
    "https://partner.example/",
)
CAMPAIGNS = ("", "?utm_source=newsletter&utm_medium=email&utm_campaign=autumn")
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo")


def send_traffic(tenant: Tenant) -> None:
    """Post visits, events, vitals and errors, and wait until queries see them."""
    for number in range(VISITORS):
        agent = IPHONE_USER_AGENT if number % 4 == 3 else CHROME_USER_AGENT
        assert tenant.send(list(_visit(number)), agent=agent).status == 200
        assert tenant.send(list(_vitals(number)), "/vitals", agent).status == 200
    assert tenant.send(list(_errors()), "/errors").status == 200
    sent = sum(len(list(_visit(number))) for number in range(VISITORS))
    eventually(lambda: tenant.rows("summary")[0]["total_events"] == sent, 60)
    eventually(lambda: tenant.rows("vitals_overview") and tenant.rows("error_summary"), 60)


def _who(number: int) -> Item:
    return {"anonymousId": f"visitor-{number}", "sessionId": f"session-{number}"}


def _at(number: int, step: int) -> int:
    return at_ms(f"{8 + number % 10:02}:{step:02}:{number:02}")


def _visit(number: int) -> Iterator[Item]:
    """Page views of one to four pages; some sign up, and some of those buy."""
    depth = 1 + number % len(PATHS)
    for step, path in enumerate(PATHS[:depth]):
        query = CAMPAIGNS[number % 2] if step == 0 else ""
        yield {
            **_who(number),
            "name": "screen_view",
            "path": f"https://shop.example{path}{query}",
            "referrer": SOURCES[number % len(SOURCES)] if step == 0 else "https://shop.example/",
            "timezone": ZONES[number % len(ZONES)],
            "timestamp": _at(number, step),
        }
    if depth == len(PATHS):
        plan = "pro" if number % 8 == 3 else "free"
        yield _event(number, 5, "signup", {"plan": plan})
        yield _event(number, 7, "purchase", {"total": 10 * number + 0.5, "currency": "EUR"})


def _event(number: int, step: int, name: str, properties: Item) -> Item:
    place = {"path": "https://shop.example/signup", "timestamp": _at(number, step)}
    return {**_who(number), **place, "name": name, "properties": properties}


def _vitals(number: int) -> Iterator[Item]:
    for name, value in (
        ("LCP", 1500 + 400 * number),
        ("INP", 90 + 30 * number),
        ("CLS", 0.02 * number),
    ):
        yield {
            **_who(number),
            "path": "https://shop.example/",
            "metricName": name,
            "metricValue": value,
            "timestamp": _at(number, 1),
        }


def _errors() -> Iterator[Item]:
    for number in range(5):
        yield {
            **_who(number),
            "path": "https://shop.example/pricing",
            "message": "x is not a function" if number % 2 else "Failed to fetch",
            "errorType": "TypeError",
            "stack": "at main (https://shop.example/app.js:1:1)",
            "filename": "https://shop.example/app.js",
            "lineno": 1,
            "timestamp": _at(number, 2),
        }
