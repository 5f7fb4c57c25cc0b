"""Access to shared dashboards: texts that authorize few requests about one website.

A share that was opened has an access text, `tmshare_` and a signed token. The token names the share
and its password of that moment: access ends when the share is deleted or ends, and when its
password changes.
"""

import hashlib

from query.sign_in.sign_ins import SignIns
from schemas.errors import Unauthorized
from schemas.registry import Key, KeyScope, Share, Snapshot
from schemas.registry.share_links import ACCESS_PREFIX, ends_ms, find_active
from schemas.registry.signed_tokens import SignedToken, TokenKind

LIFETIME_MS = 12 * 3_600_000
ENDED = "The shared dashboard is not available any more; open its link again"


class ShareKey(Key, frozen=True, kw_only=True):
    """The rights of a share as an API key of its website, which exists in no registry."""

    share: Share
    access_ends_at: int


def is_share_access(text: str | None) -> bool:
    """Whether a text in the place of an API key is access to a shared dashboard."""
    return text is not None and text.startswith(ACCESS_PREFIX)


def issue_access(sign_ins: SignIns, share: Share, now_ms: int) -> tuple[str, int]:
    """A new access text, and when it ends."""
    ends_at = min(now_ms + LIFETIME_MS, ends_ms(share) or now_ms + LIFETIME_MS)
    subject = f"{share.id}-{share.website_id}"
    token = SignedToken(TokenKind.SHARE, _password_mark(share), subject, ends_at)
    return ACCESS_PREFIX + sign_ins.sign(token), ends_at


def key_of_access(sign_ins: SignIns, text: str, registry: Snapshot, now_ms: int) -> ShareKey:
    """The rights that an access text gives; Unauthorized when it, or the share, has ended."""
    token = sign_ins.find(text.removeprefix(ACCESS_PREFIX), TokenKind.SHARE)
    share_id, _, website_id = token.subject.partition("-") if token else ("", "", "")
    share = find_active(registry.saved, website_id, share_id, now_ms)
    if token is None or share is None or token.id != _password_mark(share):
        raise Unauthorized(ENDED)
    return ShareKey(
        id=share.id,
        organization_id=share.organization_id,
        website_id=share.website_id,
        scopes=(KeyScope.READ_DATA,),
        secret_hash="",
        created_at=share.created_at,
        updated_at=share.updated_at,
        share=share,
        access_ends_at=token.ends_at,
    )


def _password_mark(share: Share) -> str:
    """Tells the password of a share from the ones that it had before."""
    return hashlib.sha256((share.password or "").encode()).hexdigest()[:32]
