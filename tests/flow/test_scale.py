"""`tidemark scale` against a running installation."""

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.flow.tenant import Tenant, at_ms
from tests.installation import ROOT, eventually


def run_scale(tenant: Tenant, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "deploy.cli", "scale", *arguments),
        cwd=ROOT,
        env=tenant.stack.environment,
        capture_output=True,
        text=True,
        check=False,
    )


def report(tenant: Tenant) -> Any:
    done = run_scale(tenant, "--seconds", "5", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def moving(tenant: Tenant) -> Any:
    """A report with rates of events, all of whose partitions are read; None otherwise."""
    found = report(tenant)
    of_events = events_of(found, tenant)
    moves = all(sum(rate[name] for rate in of_events) > 0 for name in ("arrival", "drain"))
    return found if moves and all(rate.get("worker") for rate in of_events) else None


def events_of(found: Any, tenant: Tenant) -> list[Any]:
    topic = tenant.stack.settings.topic("events")
    return [rate for rate in found["measured"]["partitions"] if rate["topic"] == topic]


def test_what_arrives_and_is_stored_is_measured_by_worker(tenant: Tenant) -> None:
    over = threading.Event()
    view = {"name": "screen_view", "path": "/a", "anonymousId": "a", "timestamp": at_ms("10:00:00")}

    def send() -> None:
        while not over.wait(0.1):
            tenant.send([view])

    sender = threading.Thread(target=send)
    sender.start()
    try:
        found = eventually(lambda: moving(tenant), 180)
    finally:
        over.set()
        sender.join()

    of_events = events_of(found, tenant)
    assert len(of_events) == tenant.stack.settings.partitions
    workers = found["measured"]["workers"]
    assert len(workers) == tenant.stack.settings.workers
    names = {f"{worker['name']} ({worker['host']})" for worker in workers}
    assert {rate["worker"] for rate in of_events} == names


@pytest.mark.long
def test_the_report_for_a_person_ends_with_the_advice(tenant: Tenant) -> None:
    done = run_scale(tenant, "--seconds", "1")

    assert done.returncode == 0, done.stderr
    assert "worker-1" in done.stdout
    assert done.stdout.rstrip().endswith(".")
