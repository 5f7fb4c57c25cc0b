"""Where a visitor of a link is sent."""

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote, unquote_plus, urlsplit, urlunsplit

from schemas.registry import Link
from schemas.registry.link_validation import WEB_SCHEMES

IOS_USER_AGENTS = ("iPhone", "iPad", "iPod")
ANDROID_USER_AGENTS = ("Android",)

SAFE_CHARACTERS = ":/%#?=@[]!$&'()*+,;"
"""What stays as it is in a `Location`, besides letters and digits."""
CACHED_URL_LENGTH = 512
"""Characters; longer ones hold what a visitor made up, and are not worth keeping."""


def choose_target(link: Link, user_agent: str, now_ms: int) -> str | None:
    """Where this visitor is sent; None when the link has expired and leads nowhere else."""
    if link.expires_at is not None and link.expires_at <= now_ms:
        return link.expired_redirect_url
    if link.ios_url and any(word in user_agent for word in IOS_USER_AGENTS):
        return link.ios_url
    if link.android_url and any(word in user_agent for word in ANDROID_USER_AGENTS):
        return link.android_url
    return link.target_url


def with_visitor_query(target: str, query: bytes) -> str:
    """The target with the visitor's parameters; those that the target has itself stay as they are.

    A target in an app is left alone: nobody knows what its address may hold.
    """
    if not query:
        return target
    parts = urlsplit(target)
    if parts.scheme not in WEB_SCHEMES:
        return target
    held = set(_parameter_names(parts.query))
    given = quote(query, safe=SAFE_CHARACTERS).split("&")  # bytes beyond ASCII are somebody's UTF-8
    new = [one for one in given if one and next(_parameter_names(one)) not in held]
    together = "&".join([parts.query, *new] if parts.query else new)
    return urlunsplit(parts._replace(query=together))


def location_header(url: str) -> bytes:
    """The URL as the header has it."""
    return _cached_location(url) if len(url) <= CACHED_URL_LENGTH else _encode_location(url)


def _encode_location(url: str) -> bytes:
    return quote(url, safe=SAFE_CHARACTERS).encode()


_cached_location = lru_cache(maxsize=4096)(_encode_location)


def _parameter_names(query: str) -> Iterator[str]:
    for one in query.split("&"):
        yield unquote_plus(one.partition("=")[0])
