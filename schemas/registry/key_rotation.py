"""Rotation of an API key: a new one with the same permissions, while the old one still works."""

from msgspec import Struct

from schemas.registry.records import Key
from schemas.registry.store import RegistryStore
from schemas.registry.transaction import RecordConflict
from schemas.registry.validation import new_key

HOUR_MS = 3_600_000
DEFAULT_OVERLAP_HOURS = 24.0
MAX_OVERLAP_HOURS = 8760.0


class Rotation(Struct, frozen=True):
    """A new key with its text to show once, and the key that it replaces."""

    key: Key
    text: str
    replaced: Key


def rotate_key(
    store: RegistryStore, key_id: str, now_ms: int, overlap_hours: float, expires_at: int | None
) -> Rotation:
    """Create a key and let the old one end after the overlap, in one transaction.

    RecordNotFound, or RecordConflict when the old one has ended, belongs to a person, or there are
    too many keys.
    """
    old = store.get(Key, key_id)
    if not old.is_active(now_ms):
        raise RecordConflict(f"key '{key_id}' has expired or was revoked; create a new one")
    if old.person_id is not None:
        raise RecordConflict(f"key '{key_id}' is a person's own: they make a new one")
    until = now_ms + round(overlap_hours * HOUR_MS)
    key, text = new_key(
        old.organization_id, old.scopes, now_ms, old.website_id, old.name, expires_at
    )
    replaced = store.replace_key(key, old.id, min(until, old.expires_at or until), now_ms)
    return Rotation(key, text, replaced)
