"""Host, path and title of the page, from the item, else from its properties.

`screen_view`, `pageview` and outbound clicks may carry them in `properties`. Where an item names no
page, the `Referer` header does; across origins it is only the origin, so the path stays NULL.
"""

from collections.abc import Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from schemas.envelope import Envelope
from schemas.items import Item
from schemas.tables.events import CustomEvent
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.urls import (
    NO_PAGE,
    page_cache,
    referer_cache,
    title_cache,
)
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.facts import PageProperties, PageUrl
from stream.rows.repeated_column import RepeatedColumn, constant_column, distinct, mapped
from stream.rows.row_batch import Column, RowBatch

PAGE_VIEWS = frozenset({"screen_view", "pageview"})
OUTBOUND_EVENTS = frozenset({"outgoing_link", "outbound_link", "outbound_click", "link_out"})


NO_PROPERTIES = PageProperties()


@enrichment_step(writes=("page_properties", "page_address", "page"), repeatable=True)
def put_page(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Host, path, title; of the item, else of a page view's properties, else of the `Referer`."""
    properties = rows.facts.page_properties = all_page_properties(rows)
    # The `Referer` of a click on a short link is the referring page, not the page itself.
    headers = rows.per_sender(header_of if rows.has_column("path") else no_header)
    addresses = distinct(own_addresses(rows, properties))
    rows.facts.page_address = (
        [address or header for address, header in zip(addresses, headers, strict=True)]
        if "" in addresses.values
        else addresses
    )
    of_addresses = addresses.mapped(page_of)
    pages: Sequence[PageUrl] = of_addresses
    if not all(page.host for page in of_addresses.values):
        pages = [
            page if page.host else with_header_host(page, header)
            for page, header in zip(of_addresses, headers, strict=True)
        ]
    rows.facts.page = pages
    if rows.has_column("host"):
        rows.columns["host"] = mapped(attrgetter("host"), pages)
        rows.columns["path"] = mapped(attrgetter("path"), pages)
    if rows.has_column("title"):
        titles = own_or_property(rows, "title", properties)
        rows.columns["title"] = titles.mapped(lambda title: title_cache[title] if title else None)


def own_addresses(rows: RowBatch, properties: Sequence[PageProperties]) -> Column:
    """The page's address that each item names; empty where it names none."""
    paths = rows.distinct_field("path")
    if isinstance(properties, RepeatedColumn):  # no item has any
        return paths.mapped(lambda path: path or "")
    return [
        path or text(props.path) or text(props.url) or ""
        for path, props in zip(paths, properties, strict=True)
    ]


def own_or_property(
    rows: RowBatch, name: str, properties: Sequence[PageProperties]
) -> RepeatedColumn:
    """A field of each item, else its page property of the same name."""
    sent = rows.distinct_field(name)
    if all(sent.values) or isinstance(properties, RepeatedColumn):
        return sent
    return distinct(
        [own or text(getattr(props, name)) for own, props in zip(sent, properties, strict=True)]
    )


def page_of(address: str) -> PageUrl:
    """The page at an address."""
    # Without its query, because a URL with a click id would never be found in the cache.
    return page_cache[address if "#" in address else address.partition("?")[0]]


def all_page_properties(rows: RowBatch) -> Sequence[PageProperties]:
    """The page properties of each item; a repeated column when no item has any."""
    found = [
        (index, properties)
        for index in rows_that_lack_fields(rows)
        if (properties := page_properties(rows.items[index])) != NO_PROPERTIES
    ]
    if not found:
        return constant_column(NO_PROPERTIES, len(rows))
    columns = [NO_PROPERTIES] * len(rows)
    for index, properties in found:
        columns[index] = properties
    return columns


def rows_that_lack_fields(rows: RowBatch) -> list[int]:
    """The indexes of page views and outbound clicks whose item does not name all of its page."""
    names = rows.distinct_field("name")
    has_path, has_title, has_referrer, has_href, has_text = (
        rows.distinct_field(name).where(bool)
        for name in ("path", "title", "referrer", "href", "text")
    )
    lacking_views = names.where(PAGE_VIEWS.__contains__) & ~(has_path & has_title & has_referrer)
    lacking_clicks = names.where(OUTBOUND_EVENTS.__contains__) & ~(has_path & has_href & has_text)
    indexes: list[int] = (lacking_views | lacking_clicks).nonzero()[0].tolist()
    return indexes


def page_properties(item: Item) -> PageProperties:
    """The page properties of an item."""
    if not isinstance(item, CustomEvent) or not item.properties:
        return NO_PROPERTIES
    try:
        properties = _decoder.decode(item.properties)
    except msgspec.ValidationError:  # not an object
        return NO_PROPERTIES
    if item.name in PAGE_VIEWS:
        return properties
    # The URL of a click is its target, not its page.
    return replace(properties, url=None, href=properties.href or properties.url)


_decoder = msgspec.json.Decoder(PageProperties)


def text(value: object) -> str | None:
    """A property as text; None when it is empty or not a text."""
    return value if isinstance(value, str) and value else None


def with_header_host(page: PageUrl, header: str) -> PageUrl:
    """A page whose address has no host gets the host of the request's header."""
    referer = referer_cache[header]
    return referer if page is NO_PAGE else PageUrl(referer.host, page.path)


def header_of(envelope: Envelope) -> str:
    """The page that sent the request, by its `Referer` or `Origin` header."""
    if envelope.trusted or not envelope.headers:
        return ""
    return envelope.headers.get("referer") or envelope.headers.get("origin") or ""


def no_header(envelope: Envelope) -> str:  # noqa: ARG001
    return ""
