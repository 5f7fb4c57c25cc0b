"""Links that end the mails of an alert or a report to one recipient.

Whoever has the link got the mail. It names the recipient by a hash, so that a log of requests has
no address.
"""

import hashlib
from contextlib import suppress
from urllib.parse import urlencode

from msgspec.structs import replace

from query.sign_in.sign_ins import SignIns
from schemas.registry import Alert, RecordNotFound, RegistryStore, Report
from schemas.registry.signed_tokens import SignedToken, TokenKind

PATH = "/v1/unsubscribe"
YEAR_MS = 365 * 24 * 3_600_000
ACTOR = "unsubscribe"
"""In the audit trail."""
Mailed = Alert | Report
MAILED: tuple[type[Alert] | type[Report], ...] = (Alert, Report)


def unsubscribe_url(
    query_url: str, sign_ins: SignIns, record_id: str, recipient: str, now_ms: int
) -> str:
    """The link for one mail, which works for a year."""
    subject = f"{record_id}-{_hash(recipient)}"
    token = sign_ins.issue(TokenKind.UNSUBSCRIBE, subject, now_ms + YEAR_MS)
    return f"{query_url}{PATH}?{urlencode({'token': token})}"


def find_subscription(store: RegistryStore, token: SignedToken) -> tuple[Mailed, str] | None:
    """The alert or report of a token and the recipient; None when there is no such one now."""
    record_id, _, _ = token.subject.rpartition("-")
    for kind in MAILED:
        if record_id.startswith(f"{kind.id_prefix}_"):
            try:
                record = store.get(kind, record_id)
            except RecordNotFound:
                return None
            address = next((one for one in record.recipients if _names(token, one)), None)
            return None if address is None else (record, address)
    return None


def unsubscribe(store: RegistryStore, token: SignedToken, now_ms: int) -> None:
    """Remove the recipient of a token; nothing when it is removed already. DatabaseError."""
    subscription = find_subscription(store, token)
    if subscription is None:
        return

    def without(record: Mailed) -> Mailed:
        remaining = tuple(one for one in record.recipients if not _names(token, one))
        return replace(record, recipients=remaining)

    with suppress(RecordNotFound):  # deleted meanwhile
        store.with_actor(ACTOR).revise(subscription[0], now_ms, without)


def _names(token: SignedToken, address: str) -> bool:
    return token.subject.rpartition("-")[2] == _hash(address)


def _hash(address: str) -> str:
    return hashlib.sha256(address.lower().encode()).hexdigest()[:16]
