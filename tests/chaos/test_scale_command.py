"""`tidemark scale worker` under load: nothing is lost or stored twice, and nothing else stops."""

import subprocess
import sys
from pathlib import Path

from schemas.runtime.heartbeat import read_heartbeats
from tests.chaos.faults import settle, stack_with_short_sessions
from tests.chaos.recorded_load import LoadSender, row_count
from tests.flow.tenant import Tenant
from tests.installation import ROOT, Installation, eventually

SECONDS = 180.0
PARTITIONS = 8
STAYS = ("collector-1", "worker-1", "query-1")


def scale(stack: Installation, workers: int) -> str:
    done = subprocess.run(
        (sys.executable, "-m", "deploy.cli", "scale", "worker", str(workers)),
        cwd=ROOT,
        env=stack.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def readers(stack: Installation) -> list[str]:
    """The workers that share all partitions of the topic of events; none while they are moved."""
    topic = stack.settings.topic("events")
    shares = {
        beat.process: {at.partition for at in beat.progress if at.topic == topic}
        for beat in read_heartbeats(stack.data / "run")
        if beat.process in stack.pids() and beat.process.startswith("worker-")
    }
    complete = set().union(*shares.values()) == set(range(PARTITIONS))
    alone = sum(map(len, shares.values())) == PARTITIONS
    return sorted(name for name, share in shares.items() if share) if complete and alone else []


def test_workers_are_added_and_removed_by_the_command_line(tmp_path: Path) -> None:
    with stack_with_short_sessions(tmp_path, workers=1, partitions=PARTITIONS) as stack:
        tenant = Tenant.create(stack)
        lake = stack.settings.lake_url
        before = stack.pids()
        with LoadSender(stack.collect_url, tenant.website.id) as load:
            load.wait_for(200)
            eventually(lambda: row_count(lake) > 50, SECONDS)
            assert scale(stack, 2).startswith("worker-1, worker-2: ready")
            eventually(lambda: readers(stack) == ["worker-1", "worker-2"], SECONDS)
            load.wait_for(200)
            assert scale(stack, 1).startswith("worker-1: ready")
            eventually(lambda: readers(stack) == ["worker-1"], SECONDS)
            load.wait_for(200)
        settle(tenant, load, SECONDS)

        after = stack.pids()
        assert "worker-2" not in after
        assert {name: after[name] for name in STAYS} == {name: before[name] for name in STAYS}
        assert "worker started" in stack.log("worker-2", 1000)
