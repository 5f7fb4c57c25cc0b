"""API keys: `tm_<key id>_<secret>`, stored as a SHA-256 hash.

The secret has 187 random bits, so SHA-256 is enough and no slow password hash is needed.
"""

import hashlib
import hmac
import re
from enum import StrEnum

from msgspec import Struct

from schemas.registry.ids import random_id

KEY_PREFIX = "tm"


class KeyScope(StrEnum):
    """Permissions of an API key."""

    TRACK_EVENTS = "track:events"
    READ_DATA = "read:data"
    READ_LINKS = "read:links"
    WRITE_LINKS = "write:links"
    WRITE_RECORDS = "write:records"
    """Goals, segments, funnels, annotations, explorations, path groups, alerts and reports."""
    MANAGE_WEBSITES = "manage:websites"
    ERASE_VISITORS = "erase:visitors"
    ADMIN = "admin"


KEY_SCOPES = tuple(scope.value for scope in KeyScope)


class NewKey(Struct, frozen=True):
    """A new key, with the text that is shown once."""

    id: str
    secret_hash: str
    text: str

    def __repr__(self) -> str:
        return f"NewKey(id={self.id!r})"


def generate_key() -> NewKey:
    """Generate a key."""
    key_id, secret = random_id(10), random_id(32)
    return NewKey(key_id, hash_secret(secret), f"{KEY_PREFIX}_{key_id}_{secret}")


def parse_key(text: str) -> tuple[str, str] | None:
    """Key id and secret; None when the text has another format."""
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != KEY_PREFIX or not parts[1] or not parts[2]:
        return None
    return parts[1], parts[2]


def contains_key(content: bytes) -> bool:
    """Whether a key stands in it, as one would in a query string or in JSON."""
    return _KEY_INSIDE.search(content) is not None


_KEY_INSIDE = re.compile(rf"(?<![A-Za-z0-9]){KEY_PREFIX}_[A-Za-z0-9]+_[A-Za-z0-9]".encode())


def hash_secret(secret: str) -> str:
    """Hash of a secret, for storage."""
    return hashlib.sha256(secret.encode()).hexdigest()


def secret_matches(secret: str, secret_hash: str) -> bool:
    """Compare a secret with a hash in constant time."""
    return hmac.compare_digest(hash_secret(secret), secret_hash)
