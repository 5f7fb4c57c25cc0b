"""Every fault in any order under load, while everything else is done that an operator does.

A visitor is erased and sent again, old rows are deleted by their days to keep, items are replayed
from the quarantine, and a backup is made and restored. `TIDEMARK_CHAOS_SECONDS=300
TIDEMARK_CHAOS_SEED=7 make chaos ARGS="-k mixed"` is a long run; `make cluster
ARGS=tests/chaos/test_mixed_faults.py` runs it on three brokers, which are killed and frozen too,
PostgreSQL and an object store.
"""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from schemas.runtime.clock import now_ms
from tests.chaos.faults import (
    DRAIN_SECONDS,
    FIGURES,
    SECONDS,
    SEED,
    hit,
    settle,
    stack_with_short_sessions,
)
from tests.chaos.recorded_load import LoadSender, event_id_counts, ledger_balance, query_lake
from tests.cluster.parts import brokers, runs_on_cluster
from tests.flow.tenant import Tenant
from tests.flow.test_quarantine_replay import send_as_another_collector
from tests.installation import Installation, eventually

BROKERS = ("broker-1", "broker-2", "broker-3") if runs_on_cluster() else ("broker",)
EVERY_PROCESS = (*BROKERS, "collector-1", "worker-1", "worker-2", "keeper", "query-1")
PERSON = "visitor-to-forget"
HER_EVENTS = 40
OLD_EVENTS = 30
KEEP_DAYS = 3
DAY_MS = 86_400_000
UNREADABLE = 20
"""Events with a number as their name, which the replay makes a text."""


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Installation]:
    with stack_with_short_sessions(tmp_path / "lake", workers=2) as stack:
        yield stack


def send(tenant: Tenant, count: int, **item: object) -> None:
    """Events without ids: each time they are others."""
    eventually(lambda: tenant.send([item] * count).status == 200, seconds=DRAIN_SECONDS)


def send_hers(tenant: Tenant) -> None:
    send(tenant, HER_EVENTS, name="hers", anonymousId=PERSON)


def named(tenant: Tenant, name: str) -> int:
    """How many events of this name are stored."""
    sql = f"SELECT count(*) FROM events WHERE name = '{name}'"
    [(count,)] = query_lake(tenant.stack.settings.lake_url, "events", sql)
    return int(count)


def fault(stack: Installation, order: random.Random) -> None:
    """Kill a process, or freeze it for less than a second."""
    name, number = order.choice(EVERY_PROCESS), order.choice((signal.SIGKILL, signal.SIGSTOP))
    if name.startswith("broker-"):
        return fault_of_broker(name, number, order)
    pid = hit(stack, name, number)
    if number is signal.SIGSTOP:
        time.sleep(order.random())
        with suppress(ProcessLookupError):  # a watchdog may have ended it
            os.kill(pid, signal.SIGCONT)
    return None


def fault_of_broker(name: str, number: signal.Signals, order: random.Random) -> None:
    """Kill one of three brokers and start it, or freeze it until others may lead its partitions."""
    node = brokers[int(name[-1]) - 1]
    FIGURES["faults"] += 1
    FIGURES[f"{name} {'killed' if number is signal.SIGKILL else 'frozen'}"] += 1
    if number is signal.SIGKILL:
        node.kill()
        time.sleep(order.random())
        node.start()
    else:
        assert node.process
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(3 * order.random())
        node.process.send_signal(signal.SIGCONT)


def replay_unreadable(tenant: Tenant) -> None:
    """Send the unreadable events again, with a text as their name."""
    of_tenant = ("--website", tenant.website.id, "--set", "name = text", "--yes")
    tenant.stack.tidemark("quarantine", "replay", *of_tenant)


def test_mixed_faults_lose_double_and_bring_back_nothing(
    stack: Installation, tmp_path: Path
) -> None:
    tenant, order, target = Tenant.create(stack), random.Random(SEED), str(tmp_path / "backups")
    other = Tenant.create(stack, "other.example")
    lake, website = stack.settings.lake_url, tenant.website.id
    send_hers(other)
    send(other, OLD_EVENTS, name="old", timestamp=now_ms() - (KEEP_DAYS + 2) * DAY_MS)
    send_as_another_collector(other, *[{"name": 7}] * UNREADABLE)
    for name, count in (("hers", HER_EVENTS), ("old", OLD_EVENTS)):
        eventually(lambda: named(other, name) == count, seconds=DRAIN_SECONDS)  # noqa: B023
    begun = time.monotonic()

    def hit_until(part: float, load: LoadSender) -> None:
        while time.monotonic() < begun + part * SECONDS:
            load.wait_for(order.randrange(3, 60), seconds=90)
            fault(stack, order)

    with LoadSender(stack.collect_url, website) as load:
        hit_until(1 / 4, load)
        hers = ("--website", other.website.id, "--visitor", PERSON)
        erased = stack.tidemark("erase", *hers, "--yes")
        days = ("--keep-days", f"events={KEEP_DAYS}")
        stack.tidemark("websites", "update", other.website.id, *days)
        hit_until(2 / 4, load)
        before = event_id_counts(lake, website).keys()
        backup = stack.tidemark("backup", target)
        hit_until(3 / 4, load)
        send_hers(other)
        with suppress(AssertionError):  # a broker may be away
            replay_unreadable(other)
        hit_until(1, load)
        load.wait_for(100, seconds=90)
    settle(tenant, load, 2 * DRAIN_SECONDS)
    replay_unreadable(other)
    for name, count in (("hers", 0), ("old", 0), ("7", UNREADABLE)):
        eventually(lambda: named(other, name) == count, seconds=DRAIN_SECONDS)  # noqa: B023
    restored = Installation(tmp_path / "restored")
    restored.tidemark("restore", target, "--into", str(restored.data))

    received, stored, duplicates, others = ledger_balance(lake)
    in_backup = event_id_counts(restored.settings.lake_url, website)
    FIGURES["ledgerDifference"] = received - stored - duplicates - others
    FIGURES["restored"] = len(in_backup)
    assert FIGURES["ledgerDifference"] == 0
    assert (erased["state"], backup["damaged"]) == ("rewritten", [])
    assert stack.tidemark("verify")["offsets"] == []
    assert stack.tidemark("backup", "verify", target) == []
    assert before <= in_backup.keys() <= load.acknowledged | load.unknown
    assert set(in_backup.values()) == {1}
