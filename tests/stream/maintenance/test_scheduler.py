"""Keepers on one lake: one works at a time, another takes over, and no row is doubled or lost."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.environment import to_environment
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.scheduler import EXIT_LEASE_LOST, LEASE_SECONDS
from stream.recovery.ledger_balance import check_balance
from stream.storage.delta_commit import LakeTable
from stream.storage.table_reader import TableReader
from stream.writing.batch_writer import BatchWriter
from tests.installation import ROOT, eventually
from tests.postgresql import MIGRATED, PostgreSQL
from tests.s3.server import S3Server
from tests.stream.builders import a_message, named, settings

STARTED, COMPACTED = "keeper started", "compacted"
TAKEOVER_SECONDS = 2 * LEASE_SECONDS + 8
"""The lease is asked for every LEASE_SECONDS; the rest is for a machine with other work."""


class Keeper:
    """A keeper process with a log."""

    def __init__(self, config: Settings, name: str) -> None:
        self.log = config.data / f"{name}.log"
        config.data.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stream", "keeper", "--name", name],
                cwd=ROOT,
                env={**os.environ, **to_environment(config), "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
            )

    def logged(self, message: str) -> int:
        """How often it logged this."""
        return self.log.read_text().count(message)

    @property
    def is_alive(self) -> bool:
        """Whether it has written a heartbeat, active or not."""
        beats = read_heartbeats(self.log.parent / "run")
        return any(beat.pid == self.process.pid for beat in beats)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Load(threading.Thread):
    """Stores one event after the other, each in a data file of its own, until it is stopped."""

    def __init__(self, config: Settings) -> None:
        super().__init__(daemon=True)
        self._config = config
        self._end = threading.Event()
        self.stored: list[str] = []

    def run(self) -> None:
        writer = BatchWriter(self._config, CUSTOM_EVENT, Lookups())
        for number in count():
            if self._end.is_set():
                return
            writer.write([a_message(number, named(f"e{number}"))])
            self.stored.append(f"e{number}")

    def stop(self) -> None:
        self._end.set()
        self.join()


def a_config(folder: Path, **others: Any) -> Settings:
    """Settings of a machine whose keeper compacts at once."""
    return settings(folder, small_parts=5, compact_seconds=0.2, metrics_port=0, **others)


@contextmanager
def two_keepers(first: Settings, second: Settings) -> Iterator[tuple[Keeper, Keeper]]:
    """The second starts when the first is active."""
    with ExitStack() as ends:
        active = Keeper(first, "keeper-1")
        ends.callback(active.kill)
        eventually(lambda: active.logged(STARTED), 60)
        waiting = Keeper(second, "keeper-2")
        ends.callback(waiting.kill)
        yield active, waiting


@contextmanager
def under_load(config: Settings) -> Iterator[Load]:
    load = Load(config)
    load.start()
    try:
        yield load
    finally:
        load.stop()


def assert_complete(config: Settings, load: Load) -> None:
    """Every event is stored once, every file is there, and the ledger agrees."""
    events = TableReader.open(config, EVENTS)
    assert events is not None
    names = [name for batch in events.batches(["name"]) for name in batch["name"].to_pylist()]
    assert sorted(names) == sorted(load.stored)
    assert list(check_balance(config)) == []


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


def takes_over(first: Settings, second: Settings) -> None:
    """The second keeper works when the first was killed, and not before."""
    with under_load(second) as load, two_keepers(first, second) as (active, waiting):
        eventually(lambda: active.logged(COMPACTED) > 2, 60)
        eventually(lambda: waiting.is_alive, 60)
        assert waiting.logged(STARTED) == waiting.logged(COMPACTED) == 0

        active.process.send_signal(signal.SIGKILL)
        eventually(lambda: waiting.logged(STARTED), TAKEOVER_SECONDS)
        eventually(lambda: waiting.logged(COMPACTED) > 2, 60)
        assert waiting.logged("maintenance task failed") == 0
        load.stop()
        files = len(LakeTable(second, EVENTS).handle.file_uris())
        assert files < len(load.stored)
    assert_complete(second, load)


@pytest.mark.long
def test_on_one_machine_the_second_waits_for_the_first(tmp_path: Path) -> None:
    config = a_config(tmp_path)

    takes_over(config, config)


@pytest.mark.long
def test_on_two_machines_the_second_waits_for_the_lease(tmp_path: Path, server: PostgreSQL) -> None:
    shared = {"registry": server.new_database(MIGRATED), "lake": str(tmp_path / "lake")}

    takes_over(a_config(tmp_path / "one", **shared), a_config(tmp_path / "two", **shared))


@pytest.mark.long
def test_with_tables_on_an_object_store_as_well(
    tmp_path: Path, server: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    with S3Server(tmp_path / "s3") as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        shared = {"registry": server.new_database(MIGRATED), "lake": store.url}

        takes_over(a_config(tmp_path / "one", **shared), a_config(tmp_path / "two", **shared))


@pytest.mark.long
def test_a_keeper_whose_registry_server_restarts_ends_and_one_works(
    tmp_path: Path, server: PostgreSQL
) -> None:
    shared = {"registry": server.new_database(MIGRATED), "lake": str(tmp_path / "lake")}
    first, second = (a_config(tmp_path / name, **shared) for name in ("one", "two"))
    with under_load(second) as load, two_keepers(first, second) as (active, waiting):
        eventually(lambda: waiting.logged("keeper waits for its lease"), 60)
        server.stop()
        assert active.process.wait(60) == EXIT_LEASE_LOST
        server.start()

        eventually(lambda: waiting.logged(STARTED), 60)
        eventually(lambda: waiting.logged(COMPACTED), 60)
        load.stop()
    assert_complete(second, load)


@pytest.mark.long
def test_keepers_that_overlap_double_and_lose_nothing(tmp_path: Path) -> None:
    """Without a lease they work at the same time for long, not for the seconds of a takeover."""
    lake = str(tmp_path / "lake")
    first, second = a_config(tmp_path / "one", lake=lake), a_config(tmp_path / "two", lake=lake)
    with under_load(second) as load, two_keepers(first, second) as keepers:
        eventually(lambda: all(keeper.logged(COMPACTED) > 5 for keeper in keepers), 120)
        load.stop()
        events = LakeTable(second, EVENTS)

        def is_merged() -> bool:
            events.refresh()
            return len(events.handle.file_uris()) < first.small_parts

        eventually(is_merged, 60)
    assert_complete(second, load)
