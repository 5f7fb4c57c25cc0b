"""Links of shared dashboards: `<share id>.<website id>.<secret>`.

Of the secret the hash is stored.
"""

import re
import secrets

from msgspec.structs import replace

from schemas.registry.api_keys import hash_secret, secret_matches
from schemas.registry.saved_record_index import SavedRecordIndex
from schemas.registry.saved_records import Share
from schemas.runtime.clock import parse_instant_ms

SECRET_BYTES = 18
LINK = re.compile(r"([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{24})")
ACCESS_PREFIX = "tmshare_"
"""Before the signed token in an access text."""
ACCESS = re.compile(
    rf"{ACCESS_PREFIX}\w+\.\w+\.([A-Za-z0-9_]{{1,32}})-([A-Za-z0-9_-]{{1,32}})\.\d+\.\w+"
)
PAGE_PATH = "/s/"
"""Path of the page of a shared dashboard; the text of the link follows."""


def with_new_link(share: Share) -> tuple[Share, str]:
    """The share with the hash of a new secret, and the path of its page, to show once."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    path = f"{PAGE_PATH}{share.id}.{share.website_id}.{secret}"
    return replace(share, secret_hash=hash_secret(secret)), path


def find_share(saved: SavedRecordIndex, link: str, now_ms: int) -> Share | None:
    """The share that the text of a link opens; None when it is unknown or has ended."""
    match = LINK.fullmatch(link)
    share = match and find_active(saved, match[2], match[1], now_ms)
    return share if match and share and secret_matches(match[3], share.secret_hash) else None


def find_active(
    saved: SavedRecordIndex, website_id: str, share_id: str, now_ms: int
) -> Share | None:
    """The share of a website with this id, unless it has ended."""
    share = saved.by_website.get(website_id, {}).get(share_id)
    if not isinstance(share, Share) or now_ms >= (ends_ms(share) or now_ms + 1):
        return None
    return share


def ends_ms(share: Share) -> int | None:
    """When the share ends, in Unix milliseconds."""
    return None if share.expires is None else parse_instant_ms(share.expires)


def share_of_access(text: str) -> tuple[str, str] | None:
    """Share and website that an access text names, authentic or not; None for another text."""
    match = ACCESS.fullmatch(text)
    return (match[1], match[2]) if match else None
