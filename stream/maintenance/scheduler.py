"""The keeper process: round after round of chores over all tables, one keeper at a time."""

import fcntl
import logging
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import IO

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from schemas.lake.delta_table import UnreadableTable
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Heartbeat, remove_heartbeat, write_heartbeat
from schemas.runtime.settings import Settings
from schemas.tables import TABLES, Table
from stream.maintenance import Task, tasks
from stream.maintenance.registry_backup import back_up_registry
from stream.maintenance.scrub import POLL_SECONDS, Scrubber
from stream.maintenance.verification import DamagedFileError
from stream.runtime.errors import EXIT_OK, FatalError
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_logs

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 2.0


TASK_ERRORS = (
    DeltaError,
    OSError,
    duckdb.Error,
    pa.ArrowException,
    ValueError,
    UnreadableTable,
    FatalError,
    DamagedFileError,
)
"""What a damaged file or log, a full disk or a rival raises: of one table, and for one round."""


class MaintenanceScheduler:
    """Keeps the tables in shape; what is wrong with one keeps none of the others waiting."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tasks = tasks()
        self._tables: dict[str, LakeTable] = {}
        self._reported: dict[tuple[str, str], str] = {}
        """What was said last about a chore of a table: the same is not said again."""
        for table in TABLES:
            self._run_logged("open", table, self._open)

    def run_cycle(self) -> None:
        """Every chore for every table; one that fails is tried again on the next round."""
        for table in TABLES:
            if table.name not in self._tables:
                self._run_logged("open", table, self._open)
            for name, chore in self._tasks.items() if table.name in self._tables else ():
                self._run_logged(name, table, partial(self._run_task, chore))

    def _open(self, table: Table) -> None:
        opened = LakeTable(self._settings, table)
        opened.store.clear_scratch()
        self._tables[table.name] = opened

    def _run_task(self, chore: Task, table: Table) -> None:
        chore(self._tables[table.name], self._settings)

    def _run_logged(self, name: str, table: Table, work: Callable[[Table], None]) -> None:
        try:
            work(table)
        except TASK_ERRORS as failed:
            said = {"chore": name, "table": table.name, "reason": str(failed)}
            if self._reported.get((name, table.name)) != said["reason"]:
                log.warning("chore failed", extra=said)
            self._reported[name, table.name] = said["reason"]
        else:
            self._reported.pop((name, table.name), None)


def run(settings: Settings, name: str) -> int:
    """Keep until told to stop. A chore under way is simply left: it harms nothing."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    lock = _lock(settings)
    working = threading.Thread(target=_run_tasks, args=(settings, lock, stop), daemon=True)
    working.start()
    while not stop.wait(HEARTBEAT_SECONDS):
        if not working.is_alive():
            log.critical("keeper ends")
            os._exit(75)
        try:
            write_heartbeat(settings.data / "run", Heartbeat(name, os.getpid(), now_ms()))
        except OSError as full:  # there may be room again in a moment
            log.warning("no pulse", extra={"reason": str(full)})
    remove_heartbeat(settings.data / "run", name)
    logging.shutdown()
    os._exit(EXIT_OK)


def _run_tasks(settings: Settings, lock: IO[str], stop: threading.Event) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second keeper waits here until the first is gone
    threading.Thread(target=back_up_registry, args=(settings, stop), daemon=True).start()
    log.info("keeper started", extra={"lake": settings.lake_url})
    repair_logs(settings)
    threading.Thread(target=_run_scrub, args=(settings, stop), daemon=True).start()
    keeper = MaintenanceScheduler(settings)
    while not stop.is_set():
        keeper.run_cycle()
        stop.wait(settings.compact_seconds)


def _run_scrub(settings: Settings, stop: threading.Event) -> None:
    """Beside the chores, because it waits most of the time."""
    scrubber, told = Scrubber(settings, stop), dict[str, str]()
    while not stop.wait(POLL_SECONDS):
        for table in TABLES:
            try:
                scrubber.run_cycle(table)
            except TASK_ERRORS as failed:
                if told.get(table.name) != str(failed):
                    log.warning("scrub failed", extra={"table": table.name, "reason": str(failed)})
                told[table.name] = str(failed)
            else:
                told.pop(table.name, None)


def _lock(settings: Settings) -> IO[str]:
    path = settings.data / "run" / "keeper.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w")
