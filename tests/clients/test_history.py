"""Clients of other products send history to a real installation, and send it again."""

import contextlib
import io
import json
import re
import signal
import subprocess
from typing import Any

import pytest

from deploy.cli import main
from schemas.registry import Import, RegistryStore
from tests.chaos.recorded_load import query_lake
from tests.clients.clients import HERE, NODE, PYTHON
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.installation import Installation, eventually

CLIENTS = {
    "mixpanel": "python/mixpanel_history.py",
    "posthog": "python/posthog_history.py",
    "segment": "npm/segment-node-history.mjs",
}
"""Each sends two events of 2019 with ids, and the traits of their visitor if it has any."""


def tidemark(stack: Installation, *arguments: str) -> str:
    """What the command prints."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as within, contextlib.redirect_stdout(output):
        for name, value in stack.environment.items():
            within.setenv(name, value)
        main(list(arguments))
    return output.getvalue()


def run(script: str, host: str, key: str) -> None:
    command = [*NODE, HERE / script] if script.endswith(".mjs") else [PYTHON, HERE / script]
    done = subprocess.run(
        [*command, host, key], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def events(tenant: Tenant) -> list[tuple[Any, ...]]:
    """Time, name, visitor, import and properties of all events."""
    reply = call(
        "GET",
        f"{tenant.stack.query_url}/v1/export/events?website_id={tenant.website.id}"
        "&startDate=2019-01-01&endDate=2019-12-31&format=ndjson&include_bots=true",
        headers={"x-api-key": tenant.key},
    )
    rows = [json.loads(line) for line in reply.body.decode().splitlines()]
    names = ("ts", "name", "anonymous_id", "import_id")
    return sorted((*(row[name] for name in names), json.loads(row["properties"])) for row in rows)


def counts(tenant: Tenant) -> tuple[int, int, int]:
    """Items of the website that the ledger counts: stored, stored before, dropped."""
    names = ("stored", "duplicate", "dropped")
    sums = ", ".join(f"COALESCE(SUM({name}), 0)" for name in names)
    sql = f"SELECT {sums} FROM ledger WHERE subject_id = '{tenant.website.id}'"
    [(stored, duplicate, dropped)] = query_lake(tenant.stack.settings.lake_url, "ledger", sql)
    return int(stored), int(duplicate), int(dropped)


@pytest.mark.parametrize("product", CLIENTS)
def test_history_is_stored_once_and_can_be_undone(stack: Installation, product: str) -> None:
    tenant = Tenant.create(stack)
    printed = tidemark(stack, "adopt", product, tenant.website.id, "--history")
    [key], import_id = re.findall(r"tm_\w+", printed), re.findall(r"imp_\w+", printed)[0]

    run(CLIENTS[product], stack.collect_url, key)
    eventually(lambda: len(events(tenant)) == 2)
    run(CLIENTS[product], stack.collect_url, key)
    killed = stack.signal("worker-1", signal.SIGKILL)
    eventually(lambda: stack.pids().get("worker-1", killed) != killed)
    run(CLIENTS[product], stack.collect_url, key)
    traits = 0 if product == "mixpanel" else 3
    eventually(lambda: counts(tenant) == (2, 4, traits), seconds=60)

    assert events(tenant) == [
        (f"2019-03-01T12:00:0{number}.000Z", "Order", "u1", import_id, {"total": number})
        for number in (1, 2)
    ]
    tidemark(stack, "import", "undo", import_id, "--yes")
    assert events(tenant) == []
    store = RegistryStore(stack.settings.registry_url)
    assert (store.get(Import, import_id).state, store.get(Import, import_id).removed) == (
        "undone", 2,
    )  # fmt: skip
    store.close()
