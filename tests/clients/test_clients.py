"""Real clients of other products send to a real installation; what is stored, value by value."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.local.process_list import service_specs
from deploy.local.processes.process import METRICS_PORT
from tests.browser.chromium import Chromium
from tests.clients.clients import (
    CLIENTS,
    ClientWebsite,
    create_websites,
    expected_rows,
    open_page,
    run_script,
    stored_rows,
)
from tests.flow.test_metrics import samples, value
from tests.installation import Installation, eventually

RETRY_ROUTES = {
    "segment-node": ("/v1/batch", "503"),
    "posthog-node": ("/batch/", "503"),
    "posthog-node-v1": ("/i/v1/analytics/events", "200"),
}
"""Clients that retry for longer than a broker's start: the path that they send to, and the status
of a reply that asks for a retry; capture v1 has it in the body."""
BY_ALIAS = {f"key-{one.script}": one for one in CLIENTS}
RETRYING = {f"key-{one.script}-again": one for one in CLIENTS if one.script in RETRY_ROUTES}


@pytest.fixture(scope="module")
def websites(stack: Installation) -> dict[str, ClientWebsite]:
    """A website for each client."""
    return create_websites(stack, BY_ALIAS | RETRYING)


@pytest.mark.parametrize("alias", BY_ALIAS)
def test_what_a_client_sends_is_stored_whole(
    stack: Installation, websites: dict[str, ClientWebsite], alias: str, chromium: Chromium
) -> None:
    client = BY_ALIAS[alias]

    if client.page:
        complaints = open_page(client, stack.collect_url, alias, chromium)
    else:
        complaints = run_script(client.script, stack.collect_url, alias)

    assert complaints == []
    assert stored_rows(websites[alias], client) == expected_rows(client)


@pytest.mark.parametrize("alias", RETRYING)
def test_a_client_sends_again_what_kafka_did_not_acknowledge_and_it_is_stored_once(
    stack: Installation, websites: dict[str, ClientWebsite], alias: str
) -> None:
    client = RETRYING[alias]
    before = replied(stack, *RETRY_ROUTES[client.script])
    broker = stack.signal("broker", signal.SIGSTOP)
    try:
        with ThreadPoolExecutor() as pool:
            running = pool.submit(run_script, client.script, stack.collect_url, alias)
            eventually(lambda: replied(stack, *RETRY_ROUTES[client.script]) > before, seconds=40)
            os.kill(broker, signal.SIGCONT)
            complaints = running.result()
    finally:
        os.kill(broker, signal.SIGCONT)

    assert complaints == []
    assert stored_rows(websites[alias], client) == expected_rows(client)


def replied(stack: Installation, path: str, status: str) -> float:
    """How many replies of a route had a status."""
    [spec] = [one for one in service_specs(stack.settings) if one.name == "collector-1"]
    found = samples(f"http://127.0.0.1:{spec.variables[METRICS_PORT]}")
    name = "tidemark_http_request_seconds_count"
    return value(found, name, route=path, status=status)
