"""Workers and partitions are added and removed under load: nothing is lost or stored twice."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import msgspec

from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import read_heartbeats
from tests.chaos.faults import settle, stack_with_short_sessions
from tests.chaos.recorded_load import LoadSender, row_count
from tests.flow.tenant import Tenant
from tests.installation import Installation, eventually

SECONDS = 120.0
PARTITIONS = 64
SESSION_SECONDS = 30
"""Nothing is killed here: workers on a busy machine must not be taken for dead."""


class StoredRows:
    """Watches the table of events: for how long nothing new was stored."""

    def __init__(self, lake: str) -> None:
        self._lake = lake
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._longest = 0.0

    def longest_pause(self) -> float:
        """The longest time without a new row since the last call, in seconds."""
        longest, self._longest = self._longest, 0.0
        return longest

    def _run(self) -> None:
        rows, since = row_count(self._lake), time.monotonic()
        while not self._over.wait(0.1):
            found = row_count(self._lake)
            self._longest = max(self._longest, time.monotonic() - since)
            if found > rows:
                rows, since = found, time.monotonic()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._over.set()
        self._thread.join()


def assigned(stack: Installation) -> dict[str, set[int]]:
    """Partitions of the topic of events by worker."""
    topic = stack.settings.topic("events")
    return {
        beat.process: {at.partition for at in beat.progress if at.topic == topic}
        for beat in read_heartbeats(stack.data / "run")
        if beat.process.startswith("worker-")
    }


def is_shared(stack: Installation, workers: int) -> bool:
    """Whether all partitions are assigned, each to one of so many workers."""
    shares = [share for share in assigned(stack).values() if share]
    complete = set().union(*shares) == set(range(PARTITIONS))
    return complete and len(shares) == workers and sum(map(len, shares)) == PARTITIONS


def wait_until_shared(stack: Installation, workers: int) -> None:
    """Return when all partitions are shared; else AssertionError with what each worker has."""
    try:
        eventually(lambda: is_shared(stack, workers), SECONDS)
    except AssertionError as error:
        raise AssertionError(f"not shared by {workers} workers: {report(stack)}") from error


def report(stack: Installation) -> str:
    """Age, state and partitions of each worker's heartbeat, and the end of its log."""
    shares = assigned(stack)
    beats = {
        beat.process: f"{(now_ms() - beat.at_ms) / 1000:.1f} s old, {beat.state} {beat.reason}"
        for beat in read_heartbeats(stack.data / "run")
    }
    logs = sorted((stack.data / "logs").glob("worker-*.log"))
    return "\n".join(
        f"{name}: heartbeat {beats.get(name)}\npartitions {sorted(shares.get(name, ()))}\n"
        f"{stack.log(name, lines=15)}"
        for name in (log.stem for log in logs)
    )


def start_worker(stack: Installation, name: str) -> subprocess.Popen[bytes]:
    with (stack.data / "logs" / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "stream", "worker", "--name", name],
            env=stack.environment,
            stdout=log,
            stderr=log,
        )


def test_workers_and_partitions_are_added_and_removed(tmp_path: Path) -> None:
    with stack_with_short_sessions(
        tmp_path / "stack",
        workers=2,
        partitions=16,
        session_seconds=SESSION_SECONDS,
    ) as stack:
        tenant = Tenant.create(stack)
        lake = stack.settings.lake_url
        pauses = {}
        with LoadSender(stack.collect_url, tenant.website.id) as load:
            load.wait_for(300)
            eventually(lambda: row_count(lake) > 100, SECONDS)
            with StoredRows(lake) as stored:
                more = msgspec.structs.replace(stack.settings, partitions=PARTITIONS)
                ensure_topics(more, required_topics(more))
                wait_until_shared(stack, 2)
                load.wait_for(300)
                pauses["from 16 to 64 partitions"] = stored.longest_pause()
                added = [start_worker(stack, f"worker-{number}") for number in (3, 4)]
                try:
                    wait_until_shared(stack, 4)
                    load.wait_for(300)
                    pauses["from 2 to 4 workers"] = stored.longest_pause()
                finally:
                    for process in added:
                        process.terminate()
                    codes = [process.wait(SECONDS) for process in added]
                wait_until_shared(stack, 2)
                load.wait_for(300)
                pauses["from 4 to 2 workers"] = stored.longest_pause()

        print({change: f"{seconds:.1f} s without a new row" for change, seconds in pauses.items()})
        assert codes == [0, 0]
        settle(tenant, load, SECONDS)
