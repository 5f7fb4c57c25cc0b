"""The page: host, path and what its query says, from the item or else from its properties.

`screen_view` and `pageview` may carry their facts in `properties`, as may outbound clicks. A
browser that named no page still says in `Referer` where it stood; across origins that is only the
origin, which tells the host and no path.
"""

import msgspec
from msgspec import Struct

from schemas.envelope import Envelope
from schemas.items import CustomEvent, Item
from stream.enrich.lookups import Lookups
from stream.enrich.pages import NO_PAGE, Page, pages, referers, titles
from stream.rows import Rows

PAGE_VIEWS = frozenset({"screen_view", "pageview"})
OUTBOUND = frozenset({"outgoing_link", "outbound_link", "outbound_click", "link_out"})


class Told(Struct, frozen=True):
    """Page facts that properties may carry; anything may stand there."""

    path: object = None
    url: object = None
    title: object = None
    referrer: object = None
    href: object = None
    text: object = None


NOTHING = Told()


def put_page(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    told = rows.facts["told"] = [tell(item) for item in rows.items]
    addresses = [
        own or text(t.path) or text(t.url) for own, t in zip(rows.given("path"), told, strict=True)
    ]
    # A click's `Referer` is where it came from, not where it is.
    around = from_headers if rows.wants("path") else nowhere
    found = rows.facts["page"] = [
        page if (page := pages[address or ""]).host else completed(page, around(envelope))
        for address, envelope in zip(addresses, rows.envelopes, strict=True)
    ]
    if rows.wants("host"):
        rows.columns["host"] = [page.host for page in found]
        rows.columns["path"] = [page.path for page in found]
    if rows.wants("title"):
        rows.columns["title"] = [
            titles[title] if (title := own or text(t.title)) else None
            for own, t in zip(rows.given("title"), told, strict=True)
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


def completed(page: Page, around: Page) -> Page:
    """A page that named no host, with what its request says about it."""
    if page is NO_PAGE:
        return around
    if around is NO_PAGE:
        return page
    return Page(around.host, page.path, page.campaign)


def nowhere(envelope: Envelope) -> Page:  # noqa: ARG001
    return NO_PAGE


def from_headers(envelope: Envelope) -> Page:
    """The page that a browser's request came from, as far as its headers tell."""
    if envelope.trusted or not envelope.headers:
        return NO_PAGE
    return referers[envelope.headers.get("referer") or envelope.headers.get("origin") or ""]
