"""The page: host, path and what its query says, from the item or else from its properties.

`screen_view` and `pageview` may carry their facts in `properties`, as may outbound clicks. A
browser that named no page still says in `Referer` where it stood; across origins that is only the
origin, which tells the host and no path.
"""

import msgspec
from msgspec import Struct

from schemas.envelope import Envelope
from schemas.items import CustomEvent, Item
from stream.enrich.campaigns import NO_CAMPAIGN, Campaign, read_campaign
from stream.enrich.lookups import Lookups, Memo
from stream.enrich.urls import cut, normal_path
from stream.rows import Rows

PAGE_VIEWS = frozenset({"screen_view", "pageview"})
OUTBOUND = frozenset({"outgoing_link", "outbound_link", "outbound_click", "link_out"})


class Page(Struct, frozen=True):
    """What a page's URL says."""

    host: str | None = None
    path: str | None = None
    campaign: Campaign = NO_CAMPAIGN


class Told(Struct, frozen=True):
    """Page facts that properties may carry; anything may stand there."""

    path: object = None
    url: object = None
    title: object = None
    referrer: object = None
    href: object = None
    text: object = None


NOTHING = Told()
NO_PAGE = Page()


def put_page(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    told = rows.facts["told"] = [tell(item) for item in rows.items]
    own = rows.given("path")
    onward = not rows.wants("path")  # a click's `Referer` is where it came from, not where it is
    pages = rows.facts["page"] = [
        _pages[address] if address else NO_PAGE if onward else from_headers(envelope)
        for address, envelope in zip(
            [path or text(t.path) or text(t.url) for path, t in zip(own, told, strict=True)],
            rows.envelopes,
            strict=True,
        )
    ]
    if rows.wants("host"):
        rows.columns["host"] = [page.host for page in pages]
        rows.columns["path"] = [page.path for page in pages]
    if rows.wants("title"):
        titles = rows.given("title")
        rows.columns["title"] = [
            title or text(t.title) for title, t in zip(titles, told, strict=True)
        ]


def tell(item: Item) -> Told:
    """The page facts among an item's properties, where they may stand for the item's own."""
    if not isinstance(item, CustomEvent) or not item.properties:
        return NOTHING
    name = item.name
    view = name in PAGE_VIEWS and not (item.path and item.title and item.referrer)
    if not view and not (name in OUTBOUND and not (item.href and item.text and item.path)):
        return NOTHING
    try:
        return _told.decode(item.properties)
    except msgspec.ValidationError:  # not an object
        return NOTHING


_told = msgspec.json.Decoder(Told)


def text(value: object) -> str | None:
    """A property as text; None when it is something else or empty."""
    return value if isinstance(value, str) and value else None


def read_page(address: str) -> Page:
    """The page at a URL or path."""
    url = cut(address)
    return Page(url.host or None, normal_path(url.path), read_campaign(url.query))


def from_headers(envelope: Envelope) -> Page:
    """The page that a browser's request came from, as far as its headers tell."""
    if envelope.trusted or not envelope.headers:
        return NO_PAGE
    return _referers[envelope.headers.get("referer") or envelope.headers.get("origin") or ""]


def read_referer(address: str) -> Page:
    """The page a `Referer` names; a bare origin tells the host only."""
    url = cut(address)
    if not url.host:
        return NO_PAGE
    if url.path in ("", "/") and not url.query:
        return Page(url.host)
    return Page(url.host, normal_path(url.path), read_campaign(url.query))


_pages: Memo[str, Page] = Memo(read_page)
_referers: Memo[str, Page] = Memo(read_referer)
