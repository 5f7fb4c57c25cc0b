"""Host and path of a page's URL, normalized.

The query is dropped (its campaign parameters have columns). An application's route in the fragment
is part of the path (`/#/cart`, also written `/#!/cart` or `/#!cart`); of a `file:` URL only the
file name is stored.
"""

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.urls import (
    MAX_URL_LENGTH,
    SCHEMES_WITHOUT_HOST,
    fragment_route,
    normal_path,
    printable,
    split_url,
)
from stream.rows.facts import PageUrl

MAX_TITLE_LENGTH = 512


NO_PAGE = PageUrl()


def parse_page(address: str) -> PageUrl:
    """The page at a URL or path."""
    url = split_url(address)
    if url.scheme in SCHEMES_WITHOUT_HOST or not address.strip():
        return NO_PAGE
    is_file = url.scheme == "file"
    path = normal_path(url.path.rpartition("/")[2] if is_file else url.path) + fragment_route(
        url.fragment
    )
    # Cut at last: a long query is not part of the path, but stands before the fragment.
    return PageUrl(None if is_file else url.host or None, path[:MAX_URL_LENGTH])


def parse_referer(address: str) -> PageUrl:
    """The page in a `Referer` or `Origin` header; a bare origin gives the host only."""
    url = split_url(address[:MAX_URL_LENGTH])
    if not url.host:
        return NO_PAGE
    is_origin = url.path in ("", "/") and not url.query
    return PageUrl(url.host, None if is_origin else normal_path(url.path))


def clean_title(title: str) -> str | None:
    """A title on one line; None when it is blank."""
    return printable(" ".join(title.split()))[:MAX_TITLE_LENGTH] or None


page_cache: GenerationalCache[str, PageUrl] = GenerationalCache(parse_page)
referer_cache: GenerationalCache[str, PageUrl] = GenerationalCache(parse_referer)
title_cache: GenerationalCache[str, str | None] = GenerationalCache(clean_title)
