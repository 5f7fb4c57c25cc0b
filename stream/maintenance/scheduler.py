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
from schemas.runtime.heartbeat import Pulse, remove_pulse, write_pulse
from schemas.runtime.settings import Settings
from schemas.tables import TABLES, Table
from stream.maintenance import Chore, chores
from stream.maintenance.registry_backup import keep_backups
from stream.maintenance.scrub import REST_SECONDS, Scrubber
from stream.maintenance.verification import Damaged
from stream.runtime.errors import ORDERLY, Surprise
from stream.storage.delta_commit import LakeTable
from stream.storage.log_repair import examine

log = logging.getLogger(__name__)

PULSE_SECONDS = 2.0


FAILURES = (
    DeltaError,
    OSError,
    duckdb.Error,
    pa.ArrowException,
    ValueError,
    UnreadableTable,
    Surprise,
    Damaged,
)
"""What a damaged file or log, a full disk or a rival raises: of one table, and for one round."""


class Keeper:
    """Keeps the tables in shape; what is wrong with one keeps none of the others waiting."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chores = chores()
        self._tables: dict[str, LakeTable] = {}
        self._told: dict[tuple[str, str], str] = {}
        """What was said last about a chore of a table: the same is not said again."""
        for table in TABLES:
            self._try("open", table, self._open)

    def round(self) -> None:
        """Every chore for every table; one that fails is tried again on the next round."""
        for table in TABLES:
            if table.name not in self._tables:
                self._try("open", table, self._open)
            for name, chore in self._chores.items() if table.name in self._tables else ():
                self._try(name, table, partial(self._do, chore))

    def _open(self, table: Table) -> None:
        opened = LakeTable(self._settings, table)
        opened.store.clear()
        self._tables[table.name] = opened

    def _do(self, chore: Chore, table: Table) -> None:
        chore(self._tables[table.name], self._settings)

    def _try(self, name: str, table: Table, work: Callable[[Table], None]) -> None:
        try:
            work(table)
        except FAILURES as failed:
            said = {"chore": name, "table": table.name, "reason": str(failed)}
            if self._told.get((name, table.name)) != said["reason"]:
                log.warning("chore failed", extra=said)
            self._told[name, table.name] = said["reason"]
        else:
            self._told.pop((name, table.name), None)


def run(settings: Settings, name: str) -> int:
    """Keep until told to stop. A chore under way is simply left: it harms nothing."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    lock = _lock(settings)
    working = threading.Thread(target=_work, args=(settings, lock, stop), daemon=True)
    working.start()
    while not stop.wait(PULSE_SECONDS):
        if not working.is_alive():
            log.critical("keeper ends")
            os._exit(75)
        try:
            write_pulse(settings.data / "run", Pulse(name, os.getpid(), now_ms()))
        except OSError as full:  # there may be room again in a moment
            log.warning("no pulse", extra={"reason": str(full)})
    remove_pulse(settings.data / "run", name)
    logging.shutdown()
    os._exit(ORDERLY)


def _work(settings: Settings, lock: IO[str], stop: threading.Event) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second keeper waits here until the first is gone
    threading.Thread(target=keep_backups, args=(settings, stop), daemon=True).start()
    log.info("keeper started", extra={"lake": settings.lake_url})
    examine(settings)
    threading.Thread(target=_scrub, args=(settings, stop), daemon=True).start()
    keeper = Keeper(settings)
    while not stop.is_set():
        keeper.round()
        stop.wait(settings.compact_seconds)


def _scrub(settings: Settings, stop: threading.Event) -> None:
    """Beside the chores, because it waits most of the time."""
    scrubber, told = Scrubber(settings, stop), dict[str, str]()
    while not stop.wait(REST_SECONDS):
        for table in TABLES:
            try:
                scrubber.round(table)
            except FAILURES as failed:
                if told.get(table.name) != str(failed):
                    log.warning("scrub failed", extra={"table": table.name, "reason": str(failed)})
                told[table.name] = str(failed)
            else:
                told.pop(table.name, None)


def _lock(settings: Settings) -> IO[str]:
    path = settings.data / "run" / "keeper.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w")
