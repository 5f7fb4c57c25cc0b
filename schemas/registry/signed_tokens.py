"""Signed tokens: texts of a kind, an id, a subject and an end, which a secret authenticates.

`<kind>.<id>.<subject>.<end in Unix milliseconds>.<HMAC-SHA256>`. A token of one kind is never one
of another. It proves who issued it and nothing more: what its subject may do is read elsewhere.
"""

import hashlib
import hmac
import re
from enum import StrEnum

from msgspec import Struct

from schemas.registry.ids import random_id

TOKEN = re.compile(r"([a-z]{1,16})\.([A-Za-z0-9]{1,32})\.([A-Za-z0-9_-]{1,70})\.([0-9]{1,15})")
MAC_LENGTH = 64
MAX_TOKEN_LENGTH = 200


class TokenKind(StrEnum):
    """What a token is for."""

    SESSION = "session"
    """The cookie of a browser that signed in; its subject is an API key, or a member after the way
    of signing in."""
    SIGN_IN_LINK = "link"
    """Signs in once; its subject is an API key."""
    DEBUG = "debug"
    """Reads `/debug` of a collector; its subject is an API key."""
    SHARE = "share"
    """Access to a shared dashboard that was opened; its subject is the share."""
    INVITATION = "invite"
    """Accepts an invitation; its subject is the member."""
    PASSWORD_RESET = "reset"  # noqa: S105 - a kind
    """Sets the password of an account, once; its subject is the account."""
    UNSUBSCRIBE = "stop"
    """Ends the mails of an alert or report to one recipient; its subject is the record with the
    digest of the address."""
    OIDC = "oidc"
    """A browser at the identity provider; its subject is the digest of what it brings back."""


class SignedToken(Struct, frozen=True):
    """What a token says."""

    kind: TokenKind
    id: str
    subject: str
    ends_at: int


def new_token(kind: TokenKind, subject: str, ends_at: int) -> SignedToken:
    """A token with a new id."""
    return SignedToken(kind, random_id(16), subject, ends_at)


def sign(token: SignedToken, secret: bytes) -> str:
    """The text of a token."""
    content = f"{token.kind}.{token.id}.{token.subject}.{token.ends_at}"
    return f"{content}.{_mac(content, secret)}"


def verify(text: str, kind: TokenKind, secret: bytes, now_ms: int) -> SignedToken | None:
    """The token, if it is of that kind, authentic and has not ended; None otherwise."""
    content, _, mac = text.rpartition(".")
    if len(text) > MAX_TOKEN_LENGTH or len(mac) != MAC_LENGTH or not text.isascii():
        return None
    if not hmac.compare_digest(_mac(content, secret), mac):
        return None
    match = TOKEN.fullmatch(content)
    if match is None or match[1] != kind or now_ms >= int(match[4]):
        return None
    return SignedToken(kind, match[2], match[3], int(match[4]))


def named_subject(text: str) -> str | None:
    """The subject that a text names, which nothing has authenticated; None if it is no token."""
    match = TOKEN.fullmatch(text.rpartition(".")[0]) if len(text) <= MAX_TOKEN_LENGTH else None
    return match and match[3]


def _mac(content: str, secret: bytes) -> str:
    return hmac.new(secret, content.encode(), hashlib.sha256).hexdigest()
