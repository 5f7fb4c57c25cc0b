"""Copies erasures to the target of scheduled backups within seconds, for restores of older ones.

Runs in a thread of its own: a backup may take an hour, and the target may be slow or away.
"""

import logging
import threading

from schemas.registry import DatabaseError, Erasure, RegistryStore, first_line
from schemas.registry.contents import RegistryVersion
from schemas.runtime.settings import Settings
from stream.backup.backed_up_erasures import write_erasures
from stream.backup.file_store import file_store

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0


def run_erasure_copies(settings: Settings, stop: threading.Event) -> None:
    """Copy what is new, looking every five seconds until stopped; log an error once."""
    if not settings.backup_target:
        return
    store = RegistryStore(settings.registry_url)
    copied: RegistryVersion | None = None
    logged_problem = ""
    while True:
        try:
            version = store.read_version()
            if version != copied:
                write_erasures(file_store(settings.backup_target), store.list(Erasure))
                copied = version
            problem = ""
        except DatabaseError as error:
            problem = first_line(error)
        except OSError as error:
            problem = str(error)
        if problem and problem != logged_problem:
            log.warning("erasures not copied to the backups", extra={"reason": problem})
        logged_problem = problem
        if stop.wait(POLL_SECONDS):
            store.close()
            return
