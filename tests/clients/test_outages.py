"""What real clients do while a collector is away, or replies 429, 503 or 413.

All meet the same outage at the same time, each through a relay of its own. One whose outcome is
`stored` finds a collector that works after its first failure; one whose outcome is `lost` never
does, as it would not send again.
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest
from msgspec.structs import replace

from schemas.registry import Organization, RegistryStore
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.clients.clients import (
    CLIENTS,
    Client,
    ClientWebsite,
    Outage,
    create_websites,
    expected_rows,
    number,
    open_page,
    run_script,
    stored_rows,
)
from tests.clients.relay import CLOSED, Relay
from tests.http_client import call
from tests.installation import ROOT, Installation, eventually, free_port

FAILURES: dict[Outage, int] = {"offline": CLOSED, "503": 503, "429": 429}
"""The status that a client finds; 413 has a test of its own."""
LARGE = {f"key-{one.script}-large": one for one in CLIENTS if "413" in one.outages}
LARGE_EVENTS = 50
"""Events of the script for 413; together they have more bytes than a request may."""
RUNS = [(outage, one) for outage in FAILURES for one in CLIENTS if outage in one.outages]
ONE_REQUEST = {"collect": 2}
"""A limit that one network reaches with one request: it may use half of it."""
ENOUGH = {"collect": 60_000}
"""The limit that makes room again."""
TOGETHER = 8
"""Clients that run at the same time."""
Runs = dict[str, Relay]
"""The relay of each client that has ended, by script."""


def alias_of(outage: Outage, client: Client) -> str:
    """The id that a client sends in an outage."""
    return f"key-{client.script}-{outage}"


@pytest.fixture(scope="module")
def websites(stack: Installation) -> dict[str, ClientWebsite]:
    """A website for each client and outage; those of 429 have room for one request a minute."""
    aliases = {alias_of(outage, one): one for outage, one in RUNS if outage != "429"}
    limited = {alias_of(outage, one): one for outage, one in RUNS if outage == "429"}
    return create_websites(stack, aliases) | create_websites(stack, limited, ONE_REQUEST)


@pytest.fixture(scope="module")
def full_disk(stack: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of another collector of the installation, whose disk is full: it replies 503."""
    port = free_port()
    own = {"TIDEMARK_COLLECT_PORT": str(port), "TIDEMARK_DISK_FLOOR_MB": str(2**30)}
    log = tmp_path_factory.mktemp("full") / "collector.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            (sys.executable, "-m", "ingest", "--name", "collector-full"),
            cwd=ROOT,
            env={**stack.environment, **own, "TIDEMARK_METRICS_PORT": "0"},
            stdout=output,
            stderr=output,
        )
    try:
        eventually(lambda: answers(port), seconds=60)
        yield port
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Whether a collector listens."""
    try:
        return call("GET", f"http://127.0.0.1:{port}/health/live").status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def outages(
    stack: Installation, websites: dict[str, ClientWebsite], full_disk: int, chromium: Chromium
) -> Iterator[dict[Outage, Runs]]:
    """All clients in all outages."""
    works = stack.settings.collect_port
    ports: dict[Outage, int | None] = {"offline": None, "503": full_disk, "429": works}
    with ExitStack() as relays:
        yield {
            outage: run_clients(outage, websites, port, works, chromium, relays)
            for outage, port in ports.items()
        }


def run_clients(
    outage: Outage,
    websites: dict[str, ClientWebsite],
    port: int | None,
    working_port: int,
    chromium: Chromium,
    relays: ExitStack,
) -> Runs:
    """Run the clients of an outage, until each has ended; a working collector has another port."""
    runs: Runs = {}
    with ThreadPoolExecutor(TOGETHER) as pool:
        running = []
        clients = [one for name, one in RUNS if name == outage]
        for client in clients:
            website = websites[alias_of(outage, client)]
            is_lost = client.outages[outage] == "lost"
            after_failure = stay if is_lost else partial(end_outage, website, working_port)
            successes = () if client.tells_each and outage == "503" else range(200, 300)
            relay = relays.enter_context(Relay(port, after_failure, successes))
            runs[client.script] = relay
            if client.page is None:
                running.append(pool.submit(run_one, outage, client, website, relay))
        for client in clients:
            if client.page:
                website = websites[alias_of(outage, client)]
                run_one(outage, client, website, runs[client.script], chromium)
        for script in running:
            script.result()
    return runs


def run_one(
    outage: Outage,
    client: Client,
    website: ClientWebsite,
    relay: Relay,
    chromium: Chromium | None = None,
) -> None:
    """Run one client until it has ended; for 429 after a request that uses its limit."""
    if outage == "429":
        url = f"{website.stack.collect_url}/engagement?client_id={website.id}"
        used = [{"path": "/", "anonymousId": "a", "sessionId": "s"}]  # no client has rows there
        assert call("POST", url, used).status == 200
    if chromium is None:
        run_script(client.script, relay.url, website.alias)
    else:
        leave_when = partial(may_leave, outage, website, client)
        open_page(client, relay.url, website.alias, chromium, leave_when)


def end_outage(website: ClientWebsite, working_port: int, relay: Relay) -> None:
    """Let the next request of a client come through."""
    if 429 in relay.statuses:
        store = RegistryStore(website.stack.settings.registry_url)
        store.update(Organization, website.organization_id, now_ms(), limits=ENOUGH)
        store.close()
    relay.port = working_port


def stay(_relay: Relay) -> None:
    """Let the outage go on."""


def may_leave(outage: Outage, website: ClientWebsite, client: Client) -> bool:
    """Whether all is stored that a page sends before it is left, or nothing will be."""
    is_lost = client.outages[outage] == "lost"
    return is_lost or number(website.stored()) >= number(before_leaving(client).rows)


def before_leaving(client: Client) -> Client:
    """The client without the ends of page views: a page that is left sends them once."""
    events = [row for row in client.rows["events"] if row["name"] != "page_exit"]
    return replace(client, rows={**client.rows, "events": events}) if client.page else client


@pytest.mark.parametrize(("outage", "client"), RUNS, ids=lambda one: getattr(one, "script", one))
def test_what_a_client_sends_in_an_outage_is_stored_once_or_refused(
    outages: dict[Outage, Runs],
    websites: dict[str, ClientWebsite],
    outage: Outage,
    client: Client,
) -> None:
    statuses = outages[outage][client.script].statuses
    website = websites[alias_of(outage, client)]

    if client.outages[outage] == "lost":
        assert FAILURES[outage] in statuses
        assert website.stored() == {}
    else:
        assert (FAILURES[outage] in statuses) != (client.tells_each and outage == "503")
        stored = stored_rows(website, before_leaving(client))
        if client.page:
            stored["events"] = [row for row in stored["events"] if row["name"] != "page_exit"]
        assert stored == expected_rows(before_leaving(client))


@pytest.mark.parametrize("alias", LARGE)
def test_a_batch_that_is_too_large_is_sent_again_in_parts(stack: Installation, alias: str) -> None:
    client = LARGE[alias]
    website = create_websites(stack, {alias: client})[alias]

    with Relay(stack.settings.collect_port, stay) as relay:
        run_script(f"{client.script}-large", relay.url, alias)

    assert 413 in relay.statuses
    if client.outages["413"] == "lost":
        assert set(relay.statuses) == {413}
        assert website.stored() == {}
    else:
        names = sorted(f"Large {number}" for number in range(LARGE_EVENTS))
        eventually(lambda: len(website.rows("events")) >= LARGE_EVENTS)
        assert sorted(row["name"] for row in website.rows("events")) == names
