"""Links by which a recipient ends the mails of one alert or report."""

import hashlib

from query.dependencies import QueryDependencies
from schemas.registry import Alert, Report
from schemas.registry.signed_tokens import SignedToken, TokenKind, new_token

PATH = "/v1/unsubscribe"
LASTS_MS = 400 * 86_400_000
DIGEST_LENGTH = 16


def unsubscribe_url(
    dependencies: QueryDependencies, source: Alert | Report, recipient: str
) -> str:
    """The address that a mail to this recipient has; it works for a year and more."""
    ends_at = dependencies.clock() + LASTS_MS
    subject = f"{source.id}-{recipient_digest(recipient)}"
    token = new_token(TokenKind.UNSUBSCRIBE, subject, ends_at)
    return f"{dependencies.access.query_url}{PATH}?token={dependencies.sign_ins.sign(token)}"


def recipient_of(token: SignedToken, source: Alert | Report) -> str | None:
    """The recipient that a token names, if the record still has them."""
    digest = token.subject.rpartition("-")[2]
    return next((one for one in source.recipients if recipient_digest(one) == digest), None)


def source_id(token: SignedToken) -> str:
    """The id of the alert or report."""
    return token.subject.rpartition("-")[0]


def recipient_digest(recipient: str) -> str:
    """Stands for an address in links, which others log."""
    return hashlib.sha256(recipient.encode()).hexdigest()[:DIGEST_LENGTH]
