"""Backs the registry up soon after every change.

Runs in a thread of the active keeper, because a compaction may take minutes.
"""

import logging
import threading
import time

from schemas.registry import Backups, DatabaseError, RegistryStore, first_line
from schemas.registry.backups import write_backup
from schemas.registry.contents import RegistryVersion
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
PAUSE_FACTOR = 20
"""Pauses last this many times as long as the backup: it takes a twentieth of a core at most."""


def run_registry_backups(settings: Settings, stop: threading.Event) -> None:
    """Back up each new revision, looking every other second until stopped; log an error once."""
    store, backups = RegistryStore(settings.registry_url), Backups.for_settings(settings)
    pause, logged_problem = 0.0, ""
    backed_up: RegistryVersion | None = None
    while not stop.wait(pause):
        started = time.monotonic()
        try:
            if not backups.is_remote or store.read_version() != backed_up:
                revision = store.read_version()  # before: a change during the backup is a new one
                write_backup(store, backups, now_ms())
                backed_up = revision
            problem = ""
        except DatabaseError as error:
            problem = first_line(error)
        except OSError as error:
            problem = str(error)
        if problem and problem != logged_problem:
            log.warning("registry not backed up", extra={"reason": problem})
        logged_problem = problem
        pause = max(POLL_SECONDS, PAUSE_FACTOR * (time.monotonic() - started))
