"""Who is asking, and what that reaches. One text for every refusal: nothing tells what exists."""

from collections.abc import Callable

from schemas.errors import Forbidden, Unauthorized
from schemas.registry import Key, Link, Organization, Snapshot, Website

Header = Callable[[str], str | None]
"""Looks a request header up by its lower-case name."""

NO_KEY = "An API key is required: send it as 'x-api-key' or 'Authorization: Bearer'"
WRONG_KEY = "The API key is not valid"
NO_REACH = "Access denied: this key does not reach the {what}"


def key_text(header: Header) -> str | None:
    """The key that a request carries."""
    direct = header("x-api-key")
    if direct:
        return direct.strip()
    scheme, _, text = (header("authorization") or "").partition(" ")
    return text.strip() or None if scheme.lower() == "bearer" else None


def require_key(registry: Snapshot, text: str | None, scope: str, now_ms: int, *others: str) -> Key:
    """The live key with that scope, or one of the others; Unauthorized or Forbidden."""
    if not text:
        raise Unauthorized(NO_KEY)
    key = registry.key(text, now_ms)
    if key is None:
        raise Unauthorized(WRONG_KEY)
    if not any(key.allows(each) for each in (scope, *others)):
        raise Forbidden(f"This key lacks the scope {_either(scope, *others)}")
    return key


def _either(*scopes: str) -> str:
    return " or ".join(f"'{scope}'" for scope in scopes)


def reach_website(registry: Snapshot, key: Key, website_id: str) -> Website:
    """The website, when the key reaches it."""
    website = registry.websites.get(website_id)
    if (
        website is None
        or website.organization_id != key.organization_id
        or key.website_id not in (None, website_id)
    ):
        raise Forbidden(NO_REACH.format(what="website"))
    return website


def reach_link(registry: Snapshot, key: Key, link_id: str) -> Link:
    """The link, when the key reaches its organization."""
    link = registry.links.get(link_id)
    if link is None or link.organization_id != key.organization_id or key.website_id is not None:
        raise Forbidden(NO_REACH.format(what="link"))
    return link


def reach_organization(registry: Snapshot, key: Key, organization_id: str) -> Organization:
    """The organization, when it is the key's own and the key is not bound to one website."""
    if organization_id != key.organization_id or key.website_id is not None:
        raise Forbidden(NO_REACH.format(what="organization"))
    return registry.organizations[organization_id]
