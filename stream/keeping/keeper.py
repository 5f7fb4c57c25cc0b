"""The keeper process: round after round of chores over all tables, one keeper at a time."""

import fcntl
import logging
import os
import signal
import threading
from typing import IO

from deltalake.exceptions import DeltaError

from schemas.clock import now_ms
from schemas.pulse import Pulse, write_pulse
from schemas.settings import Settings
from schemas.tables import TABLES
from stream.commit import LakeTable
from stream.failures import ORDERLY, Unbalanced
from stream.keeping import chores

log = logging.getLogger(__name__)

PULSE_SECONDS = 2.0


class Keeper:
    """Keeps the tables in shape."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chores = chores()
        self._tables = [LakeTable(settings, table) for table in TABLES]
        for table in self._tables:
            table.store.clear()

    def round(self) -> None:
        """Every chore for every table; one that fails is tried again on the next round."""
        for table in self._tables:
            for name, chore in self._chores.items():
                try:
                    chore(table, self._settings)
                except (DeltaError, OSError, Unbalanced) as failed:
                    log.warning(
                        "chore failed",
                        extra={"chore": name, "table": table.table.name, "reason": str(failed)},
                    )


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
        write_pulse(settings.data / "run", Pulse(name, os.getpid(), now_ms()))
    logging.shutdown()
    os._exit(ORDERLY)


def _work(settings: Settings, lock: IO[str], stop: threading.Event) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second keeper waits here until the first is gone
    log.info("keeper started", extra={"lake": settings.lake_url})
    keeper = Keeper(settings)
    while not stop.is_set():
        keeper.round()
        stop.wait(settings.compact_seconds)


def _lock(settings: Settings) -> IO[str]:
    path = settings.data / "run" / "keeper.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w")
