"""Faults under load: each acknowledged item is stored exactly once, whatever dies or freezes.

The load generator remembers every answer. An item whose request was not answered with success
may be stored once or not at all, and that is all that may happen to it.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from schemas.registry import Import, ImportState
from schemas.runtime.heartbeat import read_heartbeats
from tests.chaos.faults import (
    DRAIN_SECONDS,
    SESSION_SECONDS,
    hit,
    settle,
    stack_with_short_sessions,
)
from tests.chaos.recorded_load import (
    LoadSender,
    duplicate_positions,
    ledger_balance,
    row_count,
)
from tests.cluster.parts import runs_on_cluster
from tests.flow.tenant import Tenant
from tests.flow.test_imports import a_file, importing, imports, tidemark
from tests.installation import ROOT, Installation, eventually


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with stack_with_short_sessions(tmp_path_factory.mktemp("chaos"), workers=2) as stack:
        yield stack


@pytest.fixture
def tenant(stack: Installation) -> Tenant:
    return Tenant.create(stack)


def holds_something(stack: Installation, worker: str) -> bool:
    """Whether a worker was given partitions."""
    return any(p.process == worker and p.progress for p in read_heartbeats(stack.data / "run"))


def test_a_killed_worker_loses_and_doubles_nothing(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        for name in ("worker-1", "worker-2", "worker-1"):
            load.wait_for(300)
            hit(stack, name, signal.SIGKILL)
        load.wait_for(300)

    settle(tenant, load)


def test_what_is_sent_three_times_counts_once(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id, again=2) as load:
        for name in ("worker-1", "worker-2", "worker-1"):
            load.wait_for(150)
            hit(stack, name, signal.SIGKILL)
        load.wait_for(150)

    settle(tenant, load)
    lake = stack.settings.lake_url
    eventually(lambda: len(duplicate_positions(lake, tenant.website.id)) >= load.repeated > 600)
    assert set(duplicate_positions(lake, tenant.website.id).values()) == {1}


def test_a_worker_that_wakes_up_too_late_stores_nothing(
    stack: Installation, tenant: Tenant
) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        load.wait_for(300)
        sleeper = hit(stack, "worker-1", signal.SIGSTOP)
        until = time.monotonic() + SESSION_SECONDS + 3
        while time.monotonic() < until:
            load.wait_for(60)
        os.kill(sleeper, signal.SIGCONT)
        load.wait_for(300)

    settle(tenant, load)


def test_workers_without_room_on_their_disk_store_everything_once_there_is(
    stack: Installation, tenant: Tenant
) -> None:
    no_bytes, all_bytes = (0, resource.RLIM_INFINITY), (resource.RLIM_INFINITY,) * 2
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        load.wait_for(150)
        eventually(lambda: {"worker-1", "worker-2"} <= stack.pids().keys())
        pids = {name: stack.pids()[name] for name in ("worker-1", "worker-2")}
        for pid in pids.values():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, no_bytes)
        eventually(lambda: all("File too large" in stack.log(name) for name in pids))
        for pid in pids.values():
            with suppress(ProcessLookupError):  # a worker that ended was started again with room
                resource.prlimit(pid, resource.RLIMIT_FSIZE, all_bytes)
        load.wait_for(150)

    settle(tenant, load)


def test_a_worker_may_join_and_leave(stack: Installation, tenant: Tenant, tmp_path: Path) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        load.wait_for(300)
        with (tmp_path / "log").open("wb") as log:
            joined = subprocess.Popen(
                [sys.executable, "-m", "stream", "worker", "--name", "worker-extra"],
                env=stack.environment,
                stdout=log,
                stderr=log,
            )
        try:
            eventually(lambda: holds_something(stack, "worker-extra"), seconds=DRAIN_SECONDS)
            load.wait_for(600)
        finally:
            joined.terminate()
            code = joined.wait(30)
        assert code == 0
        load.wait_for(300)

    settle(tenant, load)


@pytest.mark.skipif(runs_on_cluster(), reason="brokers of a cluster: test_kafka_cluster.py")
def test_a_killed_broker_comes_back_with_everything(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        load.wait_for(300)
        hit(stack, "broker", signal.SIGKILL)
        load.wait_for(300, seconds=90)

    settle(tenant, load)


def test_a_killed_collector_forgets_no_acknowledged_item(
    stack: Installation, tenant: Tenant
) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        for _ in range(2):
            load.wait_for(300)
            hit(stack, "collector-1", signal.SIGKILL)
        load.wait_for(300)

    settle(tenant, load)


def test_each_process_is_restarted_in_order_under_load(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        for name in ("worker-1", "collector-1", "keeper", "query-1", "worker-2"):
            load.wait_for(150)
            before = stack.pids()
            printed = restarted(stack, name)
            after = stack.pids()
            assert f"{name} is ready again, pid {after[name]}" in printed
            assert {other for other in before if before[other] != after.get(other)} == {name}
        load.wait_for(150, seconds=90)

    settle(tenant, load)


def restarted(stack: Installation, name: str) -> str:
    """What `tidemark restart` prints."""
    command = (sys.executable, "-m", "deploy.cli", "restart", name)
    done = subprocess.run(
        command, cwd=ROOT, env=stack.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_import_is_exact_whatever_dies_and_live_events_pass_it(
    stack: Installation, tenant: Tenant, tmp_path: Path
) -> None:
    path = a_file(tmp_path, 6_000)
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        sending = importing(tenant, path)
        for name in ("backfill", "keeper", "backfill"):
            time.sleep(1.0)
            hit(stack, name, signal.SIGKILL)
        sending.send_signal(signal.SIGKILL)
        sending.wait()
        time.sleep(1.0)
    settle(tenant, load)

    done = eventually(lambda: finished(tenant, path), seconds=DRAIN_SECONDS)

    assert done is not None
    assert (done.accepted, done.rejected) == (5994, 6)
    show = ("import", "show", done.id)
    eventually(lambda: tidemark(stack, *show)["stored"] == 5994, seconds=DRAIN_SECONDS)


def finished(tenant: Tenant, path: Path) -> Import | None:
    """The import, once it went through; run again as long as it did not."""
    importing(tenant, path).wait()
    (one,) = imports(tenant)
    return one if one.state is ImportState.DONE else None


def test_a_killed_keeper_leaves_every_answer_as_it_was(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        for _ in range(3):
            load.wait_for(400)
            hit(stack, "keeper", signal.SIGKILL)
        load.wait_for(300)

    settle(tenant, load)


def test_the_ledger_balances_after_all_of_it(stack: Installation) -> None:
    received, kept, repeated, other = ledger_balance(stack.settings.lake_url)

    assert (received, other) == (kept + repeated, 0)
    assert kept == row_count(stack.settings.lake_url)


def test_a_restart_of_everything_keeps_everything(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        load.wait_for(300)
    settle(tenant, load)
    before = row_count(stack.settings.lake_url)

    assert stack.stop() == 0
    stack.start()

    assert row_count(stack.settings.lake_url) == before
    assert tenant.is_known()
    assert tenant.ask("link_total_clicks", link=True).json["data"][0]["data"] == [{"total": 0}]
    with LoadSender(stack.collect_url, tenant.website.id, name="after") as more:
        more.wait_for(30)
    more.acknowledged |= load.acknowledged
    more.unknown |= load.unknown
    settle(tenant, more)
