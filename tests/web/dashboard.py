"""Drives the dashboard in a browser tab as a person would, and reads what it shows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import cycle
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from query.client import Client
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.http_client import Reply, call
from tests.installation import eventually

SECONDS = 60.0
PAUSE = 0.1
"""Seconds between two looks at the page."""
RANGE = f"{DAY}..{DAY}"
"""The day of the tests' events as a time range of the page."""

KEY_CODES = {"Enter": 13, "ArrowDown": 40, "ArrowRight": 39, "Escape": 27}

CARD = """(title) => [...document.querySelectorAll("main .card")].find(
  (card) => card.getAttribute("aria-label") === title)"""
TABLE = f"""(title) => {{
  const card = ({CARD})(title);
  if (!card || card.querySelector(".skeleton, [aria-busy=true]")) return null;
  const texts = (row) => [...row.cells].map((cell) => cell.innerText.trim());
  return [...card.querySelectorAll("tbody tr")].map(texts);
}}"""
FOCUS = """(selector) => {
  const field = document.querySelector(selector);
  const dialog = field && field.closest("dialog");
  if (!field || (dialog && !dialog.open)) return false;
  field.focus();
  if (field.select) field.select();
  return document.activeElement === field;
}"""
BUTTON = """(text, scope) => [...document.querySelectorAll(`${scope} button, ${scope} a`)].find(
  (each) => (each.innerText.trim() === text || each.getAttribute("aria-label") === text)
    && each.checkVisibility())"""


OPEN_KEY_FORM = """() => {
  const field = document.querySelector("input[name=key]");
  if (field && field.closest("details")) field.closest("details").open = true;
  return field !== null;
}"""


class Dashboard(Struct):
    """The dashboard of one tenant in one tab."""

    tab: Tab
    tenant: Tenant

    @property
    def url(self) -> str:
        return self.tenant.stack.query_url

    @property
    def client(self) -> Client:
        """Asks the API what the page must show."""
        return Client(self.url, key=self.tenant.key)

    def ask(self, name: str, **members: Any) -> list[dict[str, Any]]:
        """The rows of a standard query over the day of the tests."""
        rows: list[dict[str, Any]] = self.client.ask(
            name, website_id=self.tenant.website.id, start=DAY, end=DAY, **members
        )
        return rows

    def metrics(self, *names: str | dict[str, Any], **members: Any) -> list[dict[str, Any]]:
        """The rows of a metrics query over the day of the tests."""
        body = {"metrics": names, "startDate": str(DAY), "endDate": str(DAY), **members}
        url = f"{self.url}/v1/query/metrics?website_id={self.tenant.website.id}"
        headers = {"authorization": f"Bearer {self.tenant.key}", "content-type": "application/json"}
        reply = call("POST", url, body, headers)
        assert reply.status == 200, reply.body
        rows: list[dict[str, Any]] = reply.json["data"]
        return rows

    def type_key(self, key: str | None = None) -> None:
        """Open the form for an API key, type the key, send it."""
        self.until(f"({OPEN_KEY_FORM})()")
        self.type_into("input[name=key]", key or self.tenant.key)
        self.press("Sign in with the key")

    def sign_in(self, key: str | None = None) -> None:
        """Sign in with an API key."""
        self.tab.go(f"{self.url}/sign-in")
        self.type_key(key)
        self.until("!location.pathname.startsWith('/sign-in') || document.querySelector('.error')")

    def take_session(self) -> None:
        """Sign in without the page: the tab gets the cookies that the form would bring."""
        headers = {"origin": self.url, "x-tidemark-request": "1"}
        reply = call("POST", f"{self.url}/v1/sign-in", {"key": self.tenant.key}, headers)
        assert reply.status == 200, reply.body
        self.take_cookies(reply)

    def take_cookies(self, reply: Reply) -> None:
        """The tab gets the cookies of a response."""
        for line in reply.headers["set-cookie"].split("\n"):
            name, _, value = line.partition(";")[0].partition("=")
            cookie = {"name": name, "value": value, "httpOnly": "HttpOnly" in line}
            self.tab.tell("Network.setCookie", url=self.url, sameSite="Strict", **cookie)

    def open(self, view: str, **query: str) -> None:
        """Open a view of the tenant's website, over the day of the tests."""
        text = urlencode({"period": RANGE, **query})
        self.tab.go(f"{self.url}/{self.tenant.website.id}/{view}?{text}")
        self.settle()

    def settle(self, pause: float = PAUSE) -> None:
        """Wait until no part of the page is loading."""
        loaded = "document.querySelector('main h1') && !document.querySelector('main .skeleton')"
        self.until(loaded, pause)
        self.until("!document.querySelector('main [aria-busy=true]')", pause)

    def until(self, condition: str, pause: float = PAUSE) -> Any:
        """The value of an expression of the page, as soon as it is true."""
        value = f"(value => value instanceof Element || value)({condition})"
        return eventually(lambda: self.tab.js(value), SECONDS, pause)

    def until_pointed(self, place: str, condition: str) -> Any:
        """The value of a condition as soon as it is true while the pointer is at a place.

        The place is an expression of the page with x and y. What was drawn anew under the pointer
        has not seen it: it is moved again, by a pixel.
        """
        pixels = cycle((0, 1))

        def pointed() -> Any:
            if (at := self.tab.js(place)) is None:
                return None
            self.tab.tell(
                "Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1] + next(pixels)
            )
            return self.tab.js(condition)

        return eventually(pointed, SECONDS, PAUSE)

    def type_into(self, selector: str, text: str) -> None:
        """Replace the text of an input as typing does."""
        self.until(f"({FOCUS})({json.dumps(selector)})")
        self.tab.tell("Input.insertText", text=text)

    def press(self, text: str, scope: str = "body") -> None:
        """Click the visible button or link with this text or name, as soon as it can be clicked."""
        found = f"({BUTTON})({json.dumps(text)}, {json.dumps(scope)})"
        self.until(f"(found => found && !found.disabled && (found.click(), true))({found})")

    def press_in_menu(self, title: str, item: str) -> None:
        """Choose an item of the menu of a card."""
        self.press(f"{title}: definition, file and request")
        self.press(item)

    def press_keys(self, *keys: str) -> None:
        """Press keys one after the other, as a keyboard does."""
        for key in keys:
            event = {"key": key, "code": key, "windowsVirtualKeyCode": KEY_CODES[key]}
            down = {"text": "\r", "type": "keyDown"} if key == "Enter" else {"type": "rawKeyDown"}
            self.tab.tell("Input.dispatchKeyEvent", **event, **down)
            self.tab.tell("Input.dispatchKeyEvent", **event, type="keyUp")

    def rows(self, title: str) -> list[list[str]]:
        """The cells of the table in a card, as soon as it is loaded."""
        found: list[list[str]] = self.until(f"({TABLE})({json.dumps(title)})")
        return found

    def visitor_ids(self, scope: str = "main") -> list[str]:
        """The ids of the visitors that are named, in order."""
        names = f"[...document.querySelectorAll({json.dumps(scope + ' .visitor-name')})]"
        last = "decodeURIComponent(link.pathname.split('/').at(-1))"
        found: list[str] = self.until(f"{names}.map((link) => {last})")
        return found

    def text(self, selector: str) -> str:
        """The text of the first element."""
        return str(self.until(f"document.querySelector({json.dumps(selector)})?.innerText"))

    @property
    def path(self) -> str:
        """Path of the address."""
        return urlsplit(self.tab.address).path

    def check_tab(self, expected: Sequence[str] = ()) -> None:
        """No error in the console, no violation of the policy, no request to another host."""
        hosts = {urlsplit(url).netloc for _, url in self.tab.requests if url.startswith("http")}
        assert hosts <= {urlsplit(self.url).netloc}, hosts
        unexpected = [text for text in self.tab.complaints if text not in expected]
        failures = [r for r in self.tab.responses if r[0] >= 400]
        assert not unexpected, (unexpected, failures)


def shown(rows: Sequence[Mapping[str, Any]], *fields: str) -> list[list[str]]:
    """Rows of the API as the page writes them in English."""
    return [[_text(row[field]) for field in fields] for row in rows]


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def signed_in(chromium: Chromium, tenant: Tenant) -> Iterator[Dashboard]:
    """The dashboard of a tenant in a tab of its own, checked in the end; for fixtures.

    The test opens the first view: its page is the first that is loaded.
    """
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, tenant)
    dashboard.take_session()
    yield dashboard
    dashboard.check_tab()
    tab.close()


def percent(value: float | None, digits: int = 1) -> str:
    """A share as the page writes it in English: nothing and everything have no decimals."""
    exact = Decimal(str(value or 0))
    if exact in (0, 100):
        return f"{int(exact)}%"
    return f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}%"
