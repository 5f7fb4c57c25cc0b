"""The page: host, path and title, from the item or else from its properties.

`screen_view` and `pageview` may carry their facts in `properties`, as may outbound clicks. A
browser that named no page still says in `Referer` where it stood; across origins that is only the
origin, which tells the host and no path.
"""

import msgspec
from msgspec.structs import replace

from schemas.envelope import Envelope
from schemas.items import CustomEvent, Item
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.page_urls import (
    MAX_URL_LENGTH,
    NO_PAGE,
    page_cache,
    referer_cache,
    title_cache,
)
from stream.rows.facts import PageProperties, PageUrl
from stream.rows.row_batch import RowBatch

PAGE_VIEWS = frozenset({"screen_view", "pageview"})
OUTBOUND_EVENTS = frozenset({"outgoing_link", "outbound_link", "outbound_click", "link_out"})
EVENTS_WITH_PAGE_PROPERTIES = PAGE_VIEWS | OUTBOUND_EVENTS


NO_PROPERTIES = PageProperties()


def put_page(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    told = rows.facts.page_properties = [
        page_properties(item) if name in EVENTS_WITH_PAGE_PROPERTIES else NO_PROPERTIES
        for name, item in zip(rows.item_field("name"), rows.items, strict=True)
    ]
    # A click's `Referer` is where it came from, not where it is.
    headers = rows.per_envelope(header_of if rows.has_column("path") else no_header)
    own = [
        path or text(t.path) or text(t.url) or ""
        for path, t in zip(rows.item_field("path"), told, strict=True)
    ]
    rows.facts.page_address = [
        address or header for address, header in zip(own, headers, strict=True)
    ]
    found = rows.facts.page = list(map(resolve_page, own, headers))
    if rows.has_column("host"):
        rows.columns["host"] = [page.host for page in found]
        rows.columns["path"] = [page.path for page in found]
    if rows.has_column("title"):
        rows.columns["title"] = [
            title_cache[title] if (title := given or text(t.title)) else None
            for given, t in zip(rows.item_field("title"), told, strict=True)
        ]


def page_properties(item: Item) -> PageProperties:
    """The page facts among an item's properties, where they may stand for the item's own."""
    if not isinstance(item, CustomEvent) or not item.properties:
        return NO_PROPERTIES
    view = item.name in PAGE_VIEWS
    if item.path and (item.title and item.referrer if view else item.href and item.text):
        return NO_PROPERTIES
    try:
        told = _decoder.decode(item.properties)
    except msgspec.ValidationError:  # not an object
        return NO_PROPERTIES
    # The URL of a click is its target, not the page around it.
    return told if view else replace(told, url=None, href=told.href or told.url)


_decoder = msgspec.json.Decoder(PageProperties)


def text(value: object) -> str | None:
    """A property as text of bounded length; None when it is something else or empty."""
    return value[:MAX_URL_LENGTH] if isinstance(value, str) and value else None


def resolve_page(address: str, header: str) -> PageUrl:
    """The page at an address, with what its request says about it where it names no host.

    The query is cut off first: with a click id in it, a URL is seen once and never again.
    """
    page = page_cache[address if "#" in address else address.partition("?")[0]]
    if page.host:
        return page
    around = referer_cache[header]
    if page is NO_PAGE:
        return around
    return PageUrl(around.host, page.path)


def header_of(envelope: Envelope) -> str:
    """The page that a browser's request came from, as its headers name it."""
    if envelope.trusted or not envelope.headers:
        return ""
    return envelope.headers.get("referer") or envelope.headers.get("origin") or ""


def no_header(envelope: Envelope) -> str:  # noqa: ARG001
    return ""
