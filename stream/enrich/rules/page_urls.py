"""Pages: what a URL says about the page at it.

Of the query only the campaign is kept. An application's route in the fragment is part of the path
(`/#/cart`); a file on a visitor's disk keeps its name, and not the folders above it.
"""

from msgspec import Struct

from stream.enrich.rules.lookups import Memo
from stream.enrich.rules.urls import OPAQUE, cut, normal_path, plain, route

LETTERS = 2048
TITLE_LETTERS = 512


class Page(Struct, frozen=True):
    """Where a page is."""

    host: str | None = None
    path: str | None = None


NO_PAGE = Page()


def read_page(address: str) -> Page:
    """The page at a URL or path."""
    url = cut(address[:LETTERS])
    if url.scheme in OPAQUE or not address.strip():
        return NO_PAGE
    own = url.scheme == "file"
    path = normal_path(url.path.rpartition("/")[2] if own else url.path) + route(url.fragment)
    return Page(None if own else url.host or None, path)


def read_referer(address: str) -> Page:
    """The page that a browser's header names; a bare origin tells the host only."""
    url = cut(address[:LETTERS])
    if not url.host:
        return NO_PAGE
    bare = url.path in ("", "/") and not url.query
    return Page(url.host, None if bare else normal_path(url.path))


def read_title(title: str) -> str | None:
    """A title on one line; None when nothing is written in it."""
    return plain(" ".join(title.split()))[:TITLE_LETTERS] or None


pages: Memo[str, Page] = Memo(read_page)
referers: Memo[str, Page] = Memo(read_referer)
titles: Memo[str, str | None] = Memo(read_title)
