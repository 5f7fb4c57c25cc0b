"""Chooses the redirect target of a link: expired, iOS, Android or default."""

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote, unquote_plus, urlsplit, urlunsplit

from schemas.http.host_names import to_punycode
from schemas.registry import Link
from schemas.registry.link_validation import WEB_SCHEMES

IOS_USER_AGENTS = ("iPhone", "iPad", "iPod")
ANDROID_USER_AGENTS = ("Android",)

SAFE_CHARACTERS = ":/%#?=@[]!$&'()*+,;"
"""Characters that are not percent-encoded in a `Location` header."""
CACHED_URL_LENGTH = 512
"""Longer URLs contain the query string of a visitor and are not cached."""


def choose_target(link: Link, user_agent: str, now_ms: int) -> str | None:
    """The target for this visitor; None if the link has expired and has no other target."""
    if link.expires_at is not None and link.expires_at <= now_ms:
        return link.expired_redirect_url
    if link.ios_url and any(word in user_agent for word in IOS_USER_AGENTS):
        return link.ios_url
    if link.android_url and any(word in user_agent for word in ANDROID_USER_AGENTS):
        return link.android_url
    return link.target_url


def with_visitor_query(target: str, query: bytes) -> str:
    """The target with the query parameters of the visitor; its own parameters win.

    Targets with an app's URL scheme are returned unchanged: their syntax is unknown.
    """
    if not query:
        return target
    parts = urlsplit(target)
    if parts.scheme not in WEB_SCHEMES:
        return target
    target_names = set(_parameter_names(parts.query))
    # Percent-encodes bytes beyond ASCII, which some clients send as plain UTF-8.
    visitor_parameters = quote(query, safe=SAFE_CHARACTERS).split("&")
    added = [
        parameter
        for parameter in visitor_parameters
        if parameter and next(_parameter_names(parameter)) not in target_names
    ]
    merged = "&".join([parts.query, *added] if parts.query else added)
    return urlunsplit(parts._replace(query=merged))


def location_header(url: str) -> bytes:
    """The URL as the value of a `Location` header, its host in Punycode."""
    return _cached_location(url) if len(url) <= CACHED_URL_LENGTH else _encode_location(url)


def _encode_location(url: str) -> bytes:
    parts = urlsplit(url)
    if parts.scheme in WEB_SCHEMES and not parts.netloc.isascii():
        host, colon, port = parts.netloc.partition(":")
        url = urlunsplit(parts._replace(netloc=(to_punycode(host) or host) + colon + port))
    return quote(url, safe=SAFE_CHARACTERS).encode()


_cached_location = lru_cache(maxsize=4096)(_encode_location)


def _parameter_names(query: str) -> Iterator[str]:
    for parameter in query.split("&"):
        yield unquote_plus(parameter.partition("=")[0])
