"""Visitors that nothing names: a keyed hash of cut address and user agent that changes every day.

Of short links, and of a website whose tracker sends no id. The day is in what is hashed, and so is
the website, or whose links they are: without the secret no two names can be told to be the same
person's.
"""

import hashlib
import secrets
from pathlib import Path

DAY_MS = 86_400_000
SECRET_BYTES = 32


class Visitors:
    """Names visitors for a day; without the secret no name leads back to an address."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def of_links(self, organization_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """32 hexadecimal digits, for all links of one organization."""
        return self._hash(now_ms, "links", organization_id, address, user_agent)

    def of_website(self, website_id: str, address: str, user_agent: str, now_ms: int) -> str:
        """The same for one website, so that nobody can be followed from one to another."""
        return self._hash(now_ms, website_id, address, user_agent)

    def _hash(self, now_ms: int, *parts: str) -> str:
        said = "\0".join((str(now_ms // DAY_MS), *parts)).encode()
        return hashlib.blake2b(said, key=self._secret, digest_size=16).hexdigest()


def read_secret(path: Path) -> bytes:
    """The secret in the file, which only its owner can read; made on first use."""
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    waiting.touch(mode=0o600)
    waiting.write_bytes(secrets.token_bytes(SECRET_BYTES))
    try:
        # A link, not a rename: of several collectors that start together one must win.
        path.hardlink_to(waiting)
    except FileExistsError:
        pass
    finally:
        waiting.unlink()
    return path.read_bytes()
