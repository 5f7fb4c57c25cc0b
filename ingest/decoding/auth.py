"""Whose items these are: by API key, or by the website id that a tracker sends.

One rule for all routes. A key (scope `track:events`) speaks for its organization, or for the one
website that it is bound to. Without a key the website id is enough, because it stands in every page
that is tracked; it lets write only, and only into that website.
"""

from msgspec import Struct

from ingest.decoding.request_head import RequestHead
from schemas.errors import Forbidden, Unauthorized
from schemas.http.auth import authorize_website, require_key
from schemas.registry import Key, KeyScope, Organization, Snapshot, Website
from schemas.registry.allowed_origins import origin_allowed

SENDER_REQUIRED = (
    "Say whose items these are: an API key as 'Authorization: Bearer' or 'x-api-key', "
    "or the website id as ?website_id= or ?client_id="
)
ORIGIN_DENIED = "Access denied: this website takes no items from the origin"
UNKNOWN_WEBSITE = "Access denied: no website takes items under this id"


class Sender(Struct, frozen=True, gc=False):
    """Who sends, and where an item goes that names no website."""

    organization: Organization
    subject_id: str
    """A website; the organization itself when its key names none and it has not exactly one."""
    key: Key | None = None

    @property
    def trusted(self) -> bool:
        return self.key is not None

    @property
    def root_id(self) -> str:
        """What all items are of that it may send: its website, or the organization."""
        bound = self.key is None or self.key.website_id is not None
        return self.subject_id if bound else self.organization.id

    def can_reach(self, registry: Snapshot, website_id: str) -> bool:
        """Whether an item may name this website."""
        if self.key is None or self.key.website_id is not None:
            return website_id == self.subject_id
        website = registry.websites.get(website_id)
        return website is not None and website.organization_id == self.organization.id


def authenticate(head: RequestHead, registry: Snapshot, now_ms: int) -> Sender | None:
    """The sender that the head names; None when it names nobody."""
    if head.key is not None:
        return _authenticate_by_key(head, registry, now_ms)
    if head.website_id is not None:
        return authenticate_by_website(head.website_id, registry, head)
    return None


def authenticate_by_website(
    website_id: str | None, registry: Snapshot, head: RequestHead
) -> Sender:
    """The sender who knows no more than a website id; Unauthorized without one."""
    if not website_id:
        raise Unauthorized(SENDER_REQUIRED)
    website = registry.websites.get(website_id)
    if website is None:
        raise Forbidden(UNKNOWN_WEBSITE)
    if website.allowed_origins:
        _check_origin(website, head.headers.get("origin"))
    return Sender(registry.organizations[website.organization_id], website_id)


def _check_origin(website: Website, origin: str | None) -> None:
    """Only browsers tell an origin, and from those nobody else's page may send."""
    if origin is not None and not origin_allowed(website.allowed_origins, origin):
        raise Forbidden(f"{ORIGIN_DENIED} '{origin[:100]}'")


def _authenticate_by_key(head: RequestHead, registry: Snapshot, now_ms: int) -> Sender:
    key = require_key(registry, head.key, KeyScope.TRACK_EVENTS, now_ms)
    if head.website_id is not None:
        subject_id = authorize_website(registry, key, head.website_id).id
    else:
        subject_id = key.website_id or _only_website(registry, key.organization_id)
    return Sender(registry.organizations[key.organization_id], subject_id, key)


def _only_website(registry: Snapshot, organization_id: str) -> str:
    websites = registry.websites_by_organization.get(organization_id, ())
    return websites[0] if len(websites) == 1 else organization_id
