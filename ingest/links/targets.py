"""Where a visitor of a link is sent."""

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote, unquote_plus, urlsplit, urlunsplit

from schemas.registry import Link
from schemas.registry.link_validation import WEB

IOS = ("iPhone", "iPad", "iPod")
ANDROID = ("Android",)

SAFE = ":/%#?=@[]!$&'()*+,;"
"""What stays as it is in a `Location`, besides letters and digits."""
USUAL = 512
"""Characters; longer ones hold what a visitor made up, and are not worth keeping."""


def target_of(link: Link, user_agent: str, now_ms: int) -> str | None:
    """Where this visitor is sent; None when the link has expired and leads nowhere else."""
    if link.expires_at is not None and link.expires_at <= now_ms:
        return link.expired_redirect_url
    if link.ios_url and any(word in user_agent for word in IOS):
        return link.ios_url
    if link.android_url and any(word in user_agent for word in ANDROID):
        return link.android_url
    return link.target_url


def passed_on(target: str, query: bytes) -> str:
    """The target with the visitor's parameters; those that the target has itself stay as they are.

    A target in an app is left alone: nobody knows what its address may hold.
    """
    if not query:
        return target
    parts = urlsplit(target)
    if parts.scheme not in WEB:
        return target
    held = set(_names(parts.query))
    given = quote(query, safe=SAFE).split("&")  # bytes beyond ASCII are somebody's UTF-8
    new = [one for one in given if one and next(_names(one)) not in held]
    together = "&".join([parts.query, *new] if parts.query else new)
    return urlunsplit(parts._replace(query=together))


def location(url: str) -> bytes:
    """The URL as the header has it."""
    return _usual_location(url) if len(url) <= USUAL else _location(url)


def _location(url: str) -> bytes:
    return quote(url, safe=SAFE).encode()


_usual_location = lru_cache(maxsize=4096)(_location)


def _names(query: str) -> Iterator[str]:
    for one in query.split("&"):
        yield unquote_plus(one.partition("=")[0])
