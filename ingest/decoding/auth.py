"""Authenticates the sender of a request by API key or website id.

One rule for all routes. A key with the scope `track:events` sends for its organization, or for
the one website that it is bound to. Without a key the website id is enough, because it is public
on every tracked page; it permits writing only, and only to that website.
"""

from msgspec import Struct

from ingest.decoding.request_head import RequestHead
from schemas.errors import Forbidden, Unauthorized
from schemas.http.admission import LimitHolder
from schemas.http.auth import authorize_website, require_key
from schemas.plans import Group
from schemas.registry import Key, KeyScope, Organization, Snapshot, Website
from schemas.registry.allowed_origins import origin_allowed

SENDER_REQUIRED = (
    "Authentication required: send an API key as 'Authorization: Bearer' or 'x-api-key', "
    "or the website id as ?website_id= or ?client_id="
)
ORIGIN_DENIED = "Access denied: this website does not accept items from the origin"
UNKNOWN_WEBSITE = "Access denied: unknown website id"


class Sender(Struct, frozen=True, gc=False):
    """The authenticated sender of a request."""

    organization: Organization
    subject_id: str
    """Subject of the items without a `websiteId`.

    A website; the organization if its key is bound to no website and it has not exactly one.
    """
    key: Key | None = None

    @property
    def trusted(self) -> bool:
        """Whether it sent an API key."""
        return self.key is not None

    @property
    def holder(self) -> LimitHolder:
        """Whose limits its requests count in: the organization's with a key, else the website's."""
        return LimitHolder(
            self.organization, Group.COLLECT, self.subject_id if self.key is None else None
        )

    @property
    def root_id(self) -> str:
        """The subject that contains everything this sender may write to."""
        bound = self.key is None or self.key.website_id is not None
        return self.subject_id if bound else self.organization.id

    def can_reach(self, registry: Snapshot, website_id: str) -> bool:
        """Whether the sender may write to this website."""
        if self.key is None or self.key.website_id is not None:
            return website_id == self.subject_id
        website = registry.websites.get(website_id)
        return website is not None and website.organization_id == self.organization.id


def authenticate(head: RequestHead, registry: Snapshot, now_ms: int) -> Sender | None:
    """The sender by key or website id in headers and query string; None without either."""
    if head.key is not None:
        return _authenticate_by_key(head, registry, now_ms)
    if head.website_id is not None:
        return authenticate_by_website(head.website_id, registry, head)
    return None


def authenticate_by_website(
    website_id: str | None, registry: Snapshot, head: RequestHead
) -> Sender:
    """The sender by website id alone; Unauthorized without one."""
    if not website_id:
        raise Unauthorized(SENDER_REQUIRED)
    website = registry.websites.get(website_id)
    if website is None:
        raise Forbidden(UNKNOWN_WEBSITE)
    if website.allowed_origins:
        _check_origin(website, head.headers.get("origin"))
    return Sender(registry.organizations[website.organization_id], website_id)


def _check_origin(website: Website, origin: str | None) -> None:
    """Forbidden for pages of other origins; only browsers send the header."""
    if origin is not None and not origin_allowed(website.allowed_origins, origin):
        raise Forbidden(f"{ORIGIN_DENIED} '{origin[:100]}'")


def _authenticate_by_key(head: RequestHead, registry: Snapshot, now_ms: int) -> Sender:
    key = require_key(registry, head.key, KeyScope.TRACK_EVENTS, now_ms)
    website_id = key.website_id if head.website_id is None else head.website_id
    if website_id is not None:
        subject_id = authorize_website(registry, key, website_id).id
    else:
        subject_id = _only_website(registry, key.organization_id)
    return Sender(registry.organizations[key.organization_id], subject_id, key)


def _only_website(registry: Snapshot, organization_id: str) -> str:
    websites = registry.websites_by_organization.get(organization_id, ())
    return websites[0] if len(websites) == 1 else organization_id
