"""Pages: what a URL says about the page at it.

Of the query only the campaign is kept. An application's route in the fragment is part of the path
(`/#/cart`); a file on a visitor's disk keeps its name, and not the folders above it.
"""

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.urls import (
    SCHEMES_WITHOUT_HOST,
    fragment_route,
    normal_path,
    printable,
    split_url,
)
from stream.rows.facts import PageUrl

MAX_URL_LENGTH = 2048
MAX_TITLE_LENGTH = 512


NO_PAGE = PageUrl()


def parse_page(address: str) -> PageUrl:
    """The page at a URL or path."""
    url = split_url(address[:MAX_URL_LENGTH])
    if url.scheme in SCHEMES_WITHOUT_HOST or not address.strip():
        return NO_PAGE
    own = url.scheme == "file"
    path = normal_path(url.path.rpartition("/")[2] if own else url.path) + fragment_route(
        url.fragment
    )
    return PageUrl(None if own else url.host or None, path)


def parse_referer(address: str) -> PageUrl:
    """The page that a browser's header names; a bare origin tells the host only."""
    url = split_url(address[:MAX_URL_LENGTH])
    if not url.host:
        return NO_PAGE
    bare = url.path in ("", "/") and not url.query
    return PageUrl(url.host, None if bare else normal_path(url.path))


def clean_title(title: str) -> str | None:
    """A title on one line; None when nothing is written in it."""
    return printable(" ".join(title.split()))[:MAX_TITLE_LENGTH] or None


page_cache: GenerationalCache[str, PageUrl] = GenerationalCache(parse_page)
referer_cache: GenerationalCache[str, PageUrl] = GenerationalCache(parse_referer)
title_cache: GenerationalCache[str, str | None] = GenerationalCache(clean_title)
