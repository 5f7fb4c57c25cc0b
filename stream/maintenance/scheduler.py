"""The keeper process: TASKS over all tables in cycles, one keeper at a time."""

import fcntl
import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from schemas.kinds import TABLES, lake_tables
from schemas.lake.delta_table import UnreadableTable
from schemas.registry import DatabaseError, KeeperLease, first_line
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Heartbeat, remove_heartbeat, write_heartbeat
from schemas.runtime.settings import Settings
from schemas.tables import Table
from schemas.telemetry.instruments import (
    TABLE_FILES,
    TASK_FAILURES,
    TASK_SECONDS,
    start_at_zero,
)
from stream.maintenance.compaction import compact
from stream.maintenance.derivation import Derivation
from stream.maintenance.erasure import ErasureTask
from stream.maintenance.erasure_copies import run_erasure_copies
from stream.maintenance.import_deletion import ImportDeletion
from stream.maintenance.log_copies import copy_log
from stream.maintenance.registry_backup import run_registry_backups
from stream.maintenance.retention import Retention
from stream.maintenance.scheduled_backup import run_scheduled_backups
from stream.maintenance.scrub import POLL_SECONDS, Scrubber
from stream.maintenance.silent_websites import watch_websites
from stream.maintenance.vacuum import VacuumTask
from stream.maintenance.verification import DamagedFileError
from stream.runtime.allocator import tune_allocator
from stream.runtime.errors import EXIT_OK, FatalError
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import repair_logs

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 2.0
LEASE_SECONDS = 2.0
EXIT_LEASE_LOST = 75

Task = Callable[[LakeTable, Settings], None]
"""Does what is due for one table, or nothing.

A task may be killed at any point: what it leaves behind is files that no table version contains.
"""

Thread = Callable[[Settings, threading.Event], None]
"""Runs in a thread of its own until the event is set."""

TASKS: Mapping[str, Callable[[], Task]] = {
    "delete imports": ImportDeletion,
    "erase": ErasureTask,
    "retain": Retention,
    "copy log": lambda: copy_log,
    "compact": lambda: compact,
    "derive": Derivation,
    "vacuum": VacuumTask,
}
"""Makes each task, in the order in which a cycle runs them."""

DERIVED_TASKS = frozenset(("copy log", "vacuum"))
"""The tasks of derived tables, whose data files are never merged."""

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
"""Raised by a damaged file or log, a full disk or a concurrent commit: the next cycle retries."""


class MaintenanceScheduler:
    """Runs the tasks for every table; an error of one table does not delay the others."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tasks = {name: make_task() for name, make_task in TASKS.items()}
        self._tables: dict[str, LakeTable] = {}
        self._logged_errors: dict[tuple[str, str], str] = {}
        """The last logged error by task and table: the same error is logged once."""
        names = [table.name for table in lake_tables()]
        start_at_zero(TASK_FAILURES, ["open", *TASKS, "count files"], names)
        for table in lake_tables():
            self._run_logged("open", table, self._open)

    def run_cycle(self) -> None:
        """Run every task for every table; one that fails is retried in the next cycle."""
        for table in lake_tables():
            if table.name not in self._tables:
                self._run_logged("open", table, self._open)
            for name in TASKS if table in TABLES else DERIVED_TASKS:
                if table.name in self._tables:
                    self._run_logged(name, table, partial(self._run_task, self._tasks[name]))
            if table.name in self._tables:
                self._run_logged("count files", table, self._count_files)

    def _open(self, table: Table) -> None:
        lake_table = LakeTable(self._settings, table)
        lake_table.store.clear_scratch()
        self._tables[table.name] = lake_table

    def _count_files(self, table: Table) -> None:
        TABLE_FILES.labels(table.name).set(len(self._tables[table.name].handle.file_uris()))

    def _run_task(self, task: Task, table: Table) -> None:
        task(self._tables[table.name], self._settings)

    def _run_logged(self, name: str, table: Table, work: Callable[[Table], None]) -> None:
        try:
            with TASK_SECONDS.labels(name, table.name).time():
                work(table)
        except TASK_ERRORS as error:
            TASK_FAILURES.labels(name, table.name).inc()
            fields = {"task": name, "table": table.name, "reason": str(error)}
            if self._logged_errors.get((name, table.name)) != fields["reason"]:
                log.warning("maintenance task failed", extra=fields)
            self._logged_errors[name, table.name] = fields["reason"]
            if table not in TABLES:  # its folder may have been deleted: it is opened again
                self._tables.pop(table.name, None)
        else:
            self._logged_errors.pop((name, table.name), None)


def run(settings: Settings, name: str, threads: Sequence[Thread] = ()) -> int:
    """Run until a signal; a task that is running then is abandoned, which leaves no damage.

    `threads` are further ones that an active keeper runs.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    tune_allocator()
    lock = _open_lock_file(settings)
    task_thread = threading.Thread(
        target=_run_tasks, args=(settings, lock, stop, threads), daemon=True
    )
    task_thread.start()
    while not stop.wait(HEARTBEAT_SECONDS):
        if not task_thread.is_alive():
            log.critical("keeper exits")
            os._exit(75)
        try:
            write_heartbeat(settings.data / "run", Heartbeat(name, os.getpid(), now_ms()))
        except OSError as error:  # a full disk may have space again in a moment
            log.warning("heartbeat not written", extra={"reason": str(error)})
    remove_heartbeat(settings.data / "run", name)
    logging.shutdown()
    os._exit(EXIT_OK)


def _run_tasks(
    settings: Settings, lock: IO[str], stop: threading.Event, threads: Sequence[Thread]
) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second keeper waits here until the first has exited
    if not _acquire_lease(settings, stop):
        return
    threading.Thread(target=run_registry_backups, args=(settings, stop), daemon=True).start()
    log.info("keeper started", extra={"lake": settings.lake_url})
    repair_logs(settings)
    for target in (
        _run_scrub,
        run_scheduled_backups,
        run_erasure_copies,
        watch_websites,
        *threads,
    ):
        threading.Thread(target=target, args=(settings, stop), daemon=True).start()
    scheduler = MaintenanceScheduler(settings)
    while not stop.is_set():
        scheduler.run_cycle()
        stop.wait(settings.compact_seconds)


def _acquire_lease(settings: Settings, stop: threading.Event) -> bool:
    """Wait until no keeper of another machine is active; False when told to stop."""
    lease, logged = KeeperLease.on_server(settings.registry_url), ""
    while lease is not None:
        try:
            if lease.acquire():
                threading.Thread(target=_hold_lease, args=(lease, stop), daemon=True).start()
                return True
            problem = "a keeper of another machine is active"
        except DatabaseError as error:
            problem = first_line(error)
        if problem != logged:
            log.info("keeper waits for its lease", extra={"reason": problem})
        logged = problem
        if stop.wait(LEASE_SECONDS):
            return False
    return True


def _hold_lease(lease: KeeperLease, stop: threading.Event) -> None:
    """End the process when the lease is lost; the next one waits for it."""
    while not stop.wait(LEASE_SECONDS):
        try:
            lease.check()
        except DatabaseError as error:
            log.critical("keeper exits: lease lost", extra={"reason": first_line(error)})
            os._exit(EXIT_LEASE_LOST)


def _run_scrub(settings: Settings, stop: threading.Event) -> None:
    """In its own thread, because it waits most of the time."""
    scrubber, logged_errors = Scrubber(settings, stop), dict[str, str]()
    while not stop.wait(POLL_SECONDS):
        for table in lake_tables():
            try:
                scrubber.run_cycle(table)
            except TASK_ERRORS as error:
                if logged_errors.get(table.name) != str(error):
                    log.warning("scrub failed", extra={"table": table.name, "reason": str(error)})
                logged_errors[table.name] = str(error)
            else:
                logged_errors.pop(table.name, None)


def _open_lock_file(settings: Settings) -> IO[str]:
    path = settings.data / "run" / "keeper.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w")
