"""The registry is backed up by the keeper, of which there is one: soon after every change.

In a thread of its own, because a compaction may take minutes.
"""

import logging
import threading
import time

from schemas.registry import Backups, DatabaseError, Store, first_line
from schemas.registry.backups import back_up
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
REST = 20
"""Pauses last this many times as long as the work: a twentieth of a core at most."""


def keep_backups(settings: Settings, stop: threading.Event) -> None:
    """Look every other second until told to stop; what goes wrong is said once."""
    store, backups = Store(settings.registry_url), Backups.of(settings)
    pause, told = 0.0, ""
    while not stop.wait(pause):
        begun = time.monotonic()
        try:
            back_up(store, backups, now_ms())
            said = ""
        except DatabaseError as away:
            said = first_line(away)
        except OSError as refused:
            said = str(refused)
        if said and said != told:
            log.warning("registry not backed up", extra={"reason": said})
        told = said
        pause = max(LOOK_SECONDS, REST * (time.monotonic() - begun))
