"""The registry is backed up by the keeper, of which there is one: soon after every change.

In a thread of its own, because a compaction may take minutes.
"""

import logging
import threading
import time

from schemas.registry import Backups, DatabaseError, RegistryStore, first_line
from schemas.registry.backups import write_backup
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
PAUSE_FACTOR = 20
"""Pauses last this many times as long as the work: a twentieth of a core at most."""


def back_up_registry(settings: Settings, stop: threading.Event) -> None:
    """Look every other second until told to stop; what goes wrong is said once."""
    store, backups = RegistryStore(settings.registry_url), Backups.for_settings(settings)
    pause, told = 0.0, ""
    while not stop.wait(pause):
        begun = time.monotonic()
        try:
            write_backup(store, backups, now_ms())
            said = ""
        except DatabaseError as away:
            said = first_line(away)
        except OSError as refused:
            said = str(refused)
        if said and said != told:
            log.warning("registry not backed up", extra={"reason": said})
        told = said
        pause = max(POLL_SECONDS, PAUSE_FACTOR * (time.monotonic() - begun))
