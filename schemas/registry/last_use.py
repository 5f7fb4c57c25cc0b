"""Last use of API keys: recorded in memory, written at most hourly.

A busy key costs one write an hour and process; a request costs one dictionary entry.
"""

import time
from collections.abc import Mapping
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from schemas.registry.records import Key
from schemas.registry.store import RegistryStore

WRITE_INTERVAL_SECONDS = 60.0
RESOLUTION_MS = 3_600_000


class KeyUses:
    """Last uses of keys, in memory and as written."""

    def __init__(self) -> None:
        self.used_at: dict[str, int] = {}
        """Unix milliseconds by key id, of authenticated keys only."""
        self._written: dict[str, int] = {}
        self._checked_at = float("-inf")

    def write(self, store: RegistryStore, keys: Mapping[str, Key]) -> None:
        """Write uses that are newer by an hour or more; at most once a minute."""
        if not self.used_at or time.monotonic() - self._checked_at < WRITE_INTERVAL_SECONDS:
            return
        self._checked_at = time.monotonic()
        due = {
            key_id: at
            for key_id, at in self.used_at.copy().items()
            if key_id in keys and at - self._written_at(keys[key_id]) >= RESOLUTION_MS
        }
        with suppress(SQLAlchemyError):
            if due:
                store.record_key_uses(due)
                self._written |= due

    def _written_at(self, key: Key) -> int:
        return self._written.get(key.id) or key.last_used_at or 0
