"""Anonymous visitor ids: keyed hash of truncated IP and user agent with a salt that changes daily.

For short links, and for websites whose tracker sends no id. The website, or the owner of the link,
is part of the hash: without the salt no two ids can be traced to one person. Anyone with the salt
could try every address with every user agent until an id matches. So all collectors of one data
folder share one salt per UTC day, and delete it a minute or two after the day ends.
"""

import asyncio
import hashlib
import logging
import secrets
from datetime import UTC, datetime
from pathlib import Path

from schemas.runtime.clock import Clock

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
GRACE_MS = 60_000
"""What came before midnight is named by then."""
CLEANUP_INTERVAL_SECONDS = 60.0
SALT_BYTES = 32


class AnonymousIds:
    """Names visitors for a day; without the secret no name leads back to an address."""

    def __init__(self, salts: "DailySalts") -> None:
        self._salts = salts

    def for_links(self, organization_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """32 hexadecimal digits, for all links of one organization."""
        return self._hash(now_ms, "links", organization_id, address, user_agent)

    def for_website(self, website_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """The same for one website, so that nobody can be followed from one to another."""
        return self._hash(now_ms, website_id, address, user_agent)

    def _hash(self, now_ms: int, *parts: str) -> str:
        said = "\0".join(parts).encode()
        return hashlib.blake2b(said, key=self._salts.get(now_ms), digest_size=16).hexdigest()


class DailySalts:
    """The secrets of the days that are not over; made when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, bytes] = {}

    def get(self, now_ms: int) -> bytes:
        """The secret of that day."""
        day = now_ms // DAY_MS
        found = self._known.get(day)
        if found is None:
            found = self._known[day] = self._load_shared(day)
        return found

    async def run(self, clock: Clock) -> None:
        """Forget the days that are over, here and on the disk, until cancelled."""
        while True:
            first = self.expire(clock())
            await asyncio.to_thread(delete_salts_before, self._folder, first)
            await asyncio.sleep(CLEANUP_INTERVAL_SECONDS)

    def expire(self, now_ms: int) -> str:
        """Forget the days that are over; the name of the first that is not."""
        first = (now_ms - GRACE_MS) // DAY_MS
        for day in [day for day in self._known if day < first]:
            del self._known[day]
        return salt_file_name(first)

    def _load_shared(self, day: int) -> bytes:
        """Without a disk this process has a secret of its own: no request is refused for it."""
        try:
            return read_salt(self._folder / salt_file_name(day))
        except OSError as error:
            log.warning("secret of the day not shared", extra={"error": str(error)})
            return secrets.token_bytes(SALT_BYTES)


def salt_file_name(day: int) -> str:
    """2026-11-21; names sort as their days do."""
    return datetime.fromtimestamp(day * DAY_MS / 1000, UTC).date().isoformat()


def read_salt(path: Path) -> bytes:
    """The secret in the file, which only its owner can read; made on first use."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _create_salt(path)
    secret = path.read_bytes()
    if len(secret) != SALT_BYTES:
        raise OSError(f"{path} is broken")
    return secret


def _create_salt(path: Path) -> None:
    waiting = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    waiting.touch(mode=0o600)
    waiting.write_bytes(secrets.token_bytes(SALT_BYTES))
    try:
        # A link, not a rename: of several collectors that begin a day together one must win.
        path.hardlink_to(waiting)
    except FileExistsError:
        pass
    finally:
        waiting.unlink()


def delete_salts_before(folder: Path, first: str) -> None:
    """Remove the secrets of days before the first, and what a killed collector left of them."""
    try:
        for path in folder.glob("????-??-??*"):
            if path.name < first:
                path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("secrets of past days not removed", extra={"error": str(error)})
