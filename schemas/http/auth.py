"""API key authentication and authorization; one message whether or not the subject exists."""

from collections.abc import Callable

from schemas.errors import Forbidden, Unauthorized
from schemas.registry import Key, Link, Organization, Snapshot, Website
from schemas.registry.people import PersonKey, key_of_person

HeaderLookup = Callable[[str], str | None]
"""Returns a request header by its lower-case name."""

KEY_REQUIRED = "An API key is required: send it as 'x-api-key' or 'Authorization: Bearer'"
INVALID_KEY = "The API key is not valid"
SECOND_FACTOR_NEEDED = (
    "The organization requires a second factor: set one up in your account, then go on"
)


def read_api_key(header: HeaderLookup) -> str | None:
    """The API key in the request headers."""
    direct = header("x-api-key")
    if direct:
        return direct.strip()
    scheme, _, text = (header("authorization") or "").partition(" ")
    return text.strip() or None if scheme.lower() == "bearer" else None


def require_key(registry: Snapshot, text: str | None, scope: str, now_ms: int, *others: str) -> Key:
    """The active key, if it has the scope or one of the others; Unauthorized or Forbidden."""
    if not text:
        raise Unauthorized(KEY_REQUIRED)
    return require_scope(find_key(registry, text, now_ms), scope, *others)


def find_key(registry: Snapshot, text: str, now_ms: int) -> Key:
    """The active key with this text; Unauthorized."""
    key = registry.find_key(text, now_ms)
    within_roles = key_of_person(registry, key) if key else None
    if within_roles is None:
        raise Unauthorized(INVALID_KEY)
    return within_roles


def require_scope(key: Key, *scopes: str) -> Key:
    """The key within the reach of one of the scopes; Forbidden."""
    narrowed = key.narrowed(scopes)
    if narrowed is None:
        if isinstance(key, PersonKey) and key.needs_second_factor:
            raise Forbidden(SECOND_FACTOR_NEEDED)
        who = "Your role" if isinstance(key, PersonKey) else "This key"
        raise Forbidden(f"{who} lacks the scope {_scope_choices(*scopes)}")
    return narrowed


def out_of_reach(key: Key, what: str) -> str:
    """The message for a subject that a key, or a person, has no access to."""
    who = "your role" if isinstance(key, PersonKey) else "this key"
    return f"Access denied: {who} has no access to the {what}"


def _scope_choices(*scopes: str) -> str:
    return " or ".join(f"'{scope}'" for scope in scopes)


def authorize_website(registry: Snapshot, key: Key, website_id: str) -> Website:
    """The website, if the key has access to it."""
    website = registry.websites.get(website_id)
    if (
        website is None
        or website.organization_id != key.organization_id
        or not key.reaches(website_id)
    ):
        raise Forbidden(f"{out_of_reach(key, 'website')}; {_reach(key)}")
    return website


def _reach(key: Key) -> str:
    """What the key is for; nothing about websites of others, not even whether they exist."""
    if isinstance(key, PersonKey) and key.allowed_websites is not None:
        return f"it is for the websites {', '.join(sorted(key.allowed_websites))} only"
    if key.website_id:
        return f"it is for the website {key.website_id} only"
    return f"it is for websites of the organization {key.organization_id} only"


def authorize_link(registry: Snapshot, key: Key, link_id: str) -> Link:
    """The link, if the key has access to its organization."""
    link = registry.links.get(link_id)
    if link is None or link.organization_id != key.organization_id or key.website_id is not None:
        raise Forbidden(out_of_reach(key, "link"))
    return link


def authorize_organization(registry: Snapshot, key: Key, organization_id: str) -> Organization:
    """The organization, if it owns the key and the key is not restricted to one website."""
    if organization_id != key.organization_id or key.website_id is not None:
        raise Forbidden(out_of_reach(key, "organization"))
    return registry.organizations[organization_id]
