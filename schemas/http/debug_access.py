"""Access to `/debug` of the collectors: with an API key, or with a token on behalf of one.

The query service has no texts of keys. It signs a token, which ends soon and opens nothing else.
"""

from schemas.errors import Unauthorized
from schemas.http.auth import INVALID_KEY, require_key, require_scope
from schemas.registry import Key, KeyScope, Snapshot
from schemas.registry.people import key_of_person, person_key
from schemas.registry.signed_tokens import TokenKind, new_token, sign, verify

TOKEN_MS = 60_000


def debug_token(registry: Snapshot, key: Key, now_ms: int) -> str:
    """A token for what the key may read at `/debug`."""
    token = new_token(TokenKind.DEBUG, key.id, now_ms + TOKEN_MS)
    return sign(token, registry.receipt_key.secret_for(TokenKind.DEBUG))


def require_debug_key(registry: Snapshot, text: str | None, now_ms: int) -> Key:
    """The key that a request was sent with or for, with `read:data`; Unauthorized or Forbidden."""
    secret = registry.receipt_key.secret_for(TokenKind.DEBUG)
    token = verify(text or "", TokenKind.DEBUG, secret, now_ms)
    if token is None:
        return require_key(registry, text, KeyScope.READ_DATA, now_ms)
    person = person_key(registry, token.subject)
    if person is not None:
        return require_scope(person, KeyScope.READ_DATA)
    key = registry.keys.get(token.subject)
    if key is None or not registry.use_key(key, now_ms):
        raise Unauthorized(INVALID_KEY)
    within_roles = key_of_person(registry, key)
    if within_roles is None:
        raise Unauthorized(INVALID_KEY)
    return require_scope(within_roles, KeyScope.READ_DATA)
