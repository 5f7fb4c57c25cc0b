"""Every fault in any order under load, while a visitor is erased and the lake is backed up.

`TIDEMARK_CHAOS_SECONDS=300 TIDEMARK_CHAOS_SEED=7 make chaos ARGS="-k mixed -s"` is a long run; it
prints its result as one line of JSON. `make cluster ARGS=tests/chaos/test_mixed_faults.py` runs it
on three brokers, PostgreSQL and an object store.
"""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.faults import DRAIN_SECONDS, hit, settle, stack_with_short_sessions
from tests.chaos.recorded_load import LoadSender, event_id_counts, ledger_balance, query_lake
from tests.cluster.parts import runs_on_cluster
from tests.flow.tenant import Tenant
from tests.installation import Installation, eventually

BROKER = () if runs_on_cluster() else ("broker",)
"""Brokers of a cluster run beside the supervisor; tests/chaos/test_kafka_cluster.py kills those."""
EVERY_PROCESS = (*BROKER, "collector-1", "worker-1", "worker-2", "keeper", "query-1")
SEED = int(os.environ.get("TIDEMARK_CHAOS_SEED", "1"))
SECONDS = float(os.environ.get("TIDEMARK_CHAOS_SECONDS", "45"))
PERSON = "visitor-to-forget"
HER_EVENTS = 40


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Installation]:
    with stack_with_short_sessions(tmp_path / "lake", workers=2) as stack:
        yield stack


def send_hers(tenant: Tenant) -> None:
    """Events of the visitor, without ids: each time they are others."""
    items = [{"name": "hers", "anonymousId": PERSON} for _ in range(HER_EVENTS)]
    eventually(lambda: tenant.send(items).status == 200, seconds=DRAIN_SECONDS)


def rows_of_hers(tenant: Tenant) -> int:
    sql = f"SELECT count(*) FROM events WHERE anonymous_id = '{PERSON}'"
    [(count,)] = query_lake(tenant.stack.settings.lake_url, "events", sql)
    return int(count)


def fault(stack: Installation, order: random.Random) -> str:
    """Kill a process, or freeze it for less than a second; which of both."""
    name, number = order.choice(EVERY_PROCESS), order.choice((signal.SIGKILL, signal.SIGSTOP))
    pid = hit(stack, name, number)
    if number is signal.SIGSTOP:
        time.sleep(order.random())
        with suppress(ProcessLookupError):  # a watchdog may have ended it
            os.kill(pid, signal.SIGCONT)
    return f"{name} {'killed' if number is signal.SIGKILL else 'frozen'}"


def test_mixed_faults_lose_double_and_bring_back_nothing(
    stack: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant, order, target = Tenant.create(stack), random.Random(SEED), str(tmp_path / "backups")
    faults = Counter[str]()
    send_hers(tenant)
    eventually(lambda: rows_of_hers(tenant) > 0, seconds=DRAIN_SECONDS)
    begun = time.monotonic()

    def hit_until(part: float, load: LoadSender) -> None:
        while time.monotonic() < begun + part * SECONDS:
            load.wait_for(order.randrange(3, 60), seconds=90)
            faults[fault(stack, order)] += 1

    with LoadSender(stack.collect_url, tenant.website.id) as load:
        hit_until(1 / 4, load)
        asked = ("erase", "--website", tenant.website.id, "--visitor", PERSON, "--yes")
        erased = stack.tidemark(*asked)
        hit_until(2 / 4, load)
        backup = stack.tidemark("backup", target)
        hit_until(3 / 4, load)
        send_hers(tenant)
        hit_until(1, load)
        load.wait_for(100, seconds=90)
    settle(tenant, load, 2 * DRAIN_SECONDS)
    eventually(lambda: rows_of_hers(tenant) == 0, seconds=DRAIN_SECONDS)

    lake = stack.settings.lake_url
    times = event_id_counts(lake, tenant.website.id)
    received, stored, duplicates, other = ledger_balance(lake)
    verified = stack.tidemark("verify")
    result = {
        "seed": SEED,
        "seconds": SECONDS,
        "faults": faults.total(),
        "acknowledged": len(load.acknowledged),
        "unknown": len(load.unknown),
        "lost": len(load.acknowledged - times.keys()),
        "doubled": sum(count > 1 for count in times.values()),
        "erasedRows": rows_of_hers(tenant),
        "ledgerDifference": received - stored - duplicates - other,
        "byFault": dict(sorted(faults.items())),
    }
    with capsys.disabled():
        print(f"\n{json.dumps(result)}")
    assert [result[n] for n in ("lost", "doubled", "erasedRows", "ledgerDifference")] == [0] * 4
    assert (erased["state"], backup["damaged"]) == ("rewritten", [])
    assert verified["offsets"] == []
    assert stack.tidemark("backup", "verify", target) == []
