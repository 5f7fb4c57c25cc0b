"""Anonymous visitor ids: keyed hash of truncated IP and user agent with a salt that changes daily.

For short links, and for websites whose tracker sends no id. The website, or the owner of the link,
is part of the hash: without the salt no two ids can be traced to one person. Anyone with the salt
could try every address with every user agent until an id matches. So all collectors of one data
folder share one salt per UTC day, and delete it a minute or two after the day ends. With a registry
on a database server those of all machines share it: each fetches the salts of today and tomorrow
ahead of time, and keeps them in its data folder for when the server is away.
"""

import asyncio
import hashlib
import logging
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from schemas.registry import DatabaseError, first_line
from schemas.runtime.clock import Clock

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
GRACE_MS = 60_000
"""Requests received before midnight have their id by then."""
CLEANUP_INTERVAL_SECONDS = 60.0
RETRY_SECONDS = 2.0
SALT_BYTES = 32


class AnonymousIds:
    """Derives visitor ids that change every day and cannot be traced back without the salt."""

    def __init__(self, salts: "DailySalts") -> None:
        self._salts = salts

    def for_links(self, organization_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """An id of 32 hexadecimal digits, the same for all links of one organization."""
        return self._hash(now_ms, "links", organization_id, address, user_agent)

    def for_website(self, website_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """An id for one website; a visitor has another id on every other website."""
        return self._hash(now_ms, website_id, address, user_agent)

    def _hash(self, now_ms: int, *parts: str) -> str:
        text = "\0".join(parts).encode()
        return hashlib.blake2b(text, key=self._salts.get(now_ms), digest_size=16).hexdigest()


class SharedSalts(Protocol):
    """Salts that machines share."""

    def share(self, day: str, proposed: bytes) -> bytes:
        """The salt of a day: the proposed one, unless another was first; DatabaseError."""

    def delete_before(self, day: str) -> None:
        """Delete the salts of earlier days; DatabaseError."""


class DailySalts:
    """Salts of the current days, shared through files; created on first use."""

    def __init__(self, folder: Path, shared: SharedSalts | None = None) -> None:
        self._folder = folder
        self._shared = shared
        self._known: dict[int, bytes] = {}
        self._fetched: set[int] = set()
        """Days whose salt is the one that all machines share."""
        self._is_logged = False

    def get(self, now_ms: int) -> bytes:
        """The salt of that UTC day."""
        day = now_ms // DAY_MS
        salt = self._known.get(day)
        if salt is None:
            salt = self._known[day] = self._load_shared(day)
        return salt

    async def run(self, clock: Clock) -> None:
        """Fetch the salts of all machines, and delete expired ones, until cancelled."""
        while True:
            first_day = self.expire(clock())
            await asyncio.to_thread(delete_salts_before, self._folder, first_day)
            is_fetched = await asyncio.to_thread(self.fetch, clock(), first_day)
            await asyncio.sleep(CLEANUP_INTERVAL_SECONDS if is_fetched else RETRY_SECONDS)

    def fetch(self, now_ms: int, first_day: str = "") -> bool:
        """Take over the shared salts of today and tomorrow; False when the server is away."""
        if self._shared is None:
            return True
        today = now_ms // DAY_MS
        try:
            for day in {today, today + 1} - self._fetched:
                self._take_over(day, self._shared)
            self._shared.delete_before(first_day)
        except DatabaseError as error:
            if not self._is_logged:
                log.warning("daily salts not fetched", extra={"reason": first_line(error)})
            self._is_logged = True
            return False
        self._is_logged = False
        return True

    def _take_over(self, day: int, shared: SharedSalts) -> None:
        """The salt of a day as all machines have it; the first proposes that of its folder."""
        name = salt_file_name(day)
        own = self._load_shared(day)
        salt = shared.share(name, own)
        self._known[day] = salt
        self._fetched.add(day)
        if salt != own:
            try:
                _replace_salt(self._folder / name, salt)
            except OSError as error:
                log.warning("daily salt not kept", extra={"error": str(error)})

    def expire(self, now_ms: int) -> str:
        """Drop expired salts from memory; returns the file name of the first current one."""
        first_day = (now_ms - GRACE_MS) // DAY_MS
        for day in [day for day in self._known if day < first_day]:
            del self._known[day]
        self._fetched = {day for day in self._fetched if day >= first_day}
        return salt_file_name(first_day)

    def _load_shared(self, day: int) -> bytes:
        """The shared salt; a salt of this process if the disk fails, so that requests succeed."""
        try:
            return read_salt(self._folder / salt_file_name(day))
        except OSError as error:
            log.warning(
                "daily salt not shared; using a salt of this process", extra={"error": str(error)}
            )
            return secrets.token_bytes(SALT_BYTES)


def salt_file_name(day: int) -> str:
    """The file name of a day, like 2026-11-21; sorts by day."""
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()


def read_salt(path: Path) -> bytes:
    """Read the salt from a file that only its owner can read; created if absent."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _create_salt(path)
    salt = path.read_bytes()
    if len(salt) != SALT_BYTES:
        raise OSError(f"{path} has not {SALT_BYTES} bytes; remove it")
    return salt


def _create_salt(path: Path) -> None:
    temporary = _write_temporary(path, secrets.token_bytes(SALT_BYTES))
    try:
        # A hard link, not a rename: of several collectors that start a day at once, one must win.
        path.hardlink_to(temporary)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def _replace_salt(path: Path, salt: bytes) -> None:
    _write_temporary(path, salt).replace(path)


def _write_temporary(path: Path, salt: bytes) -> Path:
    """A file beside the path that only its owner can read; its name begins with the day, too."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    temporary.touch(mode=0o600)
    temporary.write_bytes(salt)
    return temporary


def delete_salts_before(folder: Path, first_day: str) -> None:
    """Delete salts of earlier days, and temporary files of collectors that were killed."""
    try:
        for path in folder.glob("????-??-??*"):
            if path.name < first_day:
                path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("expired daily salts not removed", extra={"error": str(error)})
