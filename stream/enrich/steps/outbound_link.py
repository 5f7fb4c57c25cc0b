"""Outbound clicks: target URL, its host, link text. Set on no other event.

A target without a host is known by its scheme: `mailto:`, `tel:`, `whatsapp:`.
"""

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.urls import MAX_URL_LENGTH, printable, split_url
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.enrich.steps.page import OUTBOUND_EVENTS, text
from stream.rows.repeated_column import constant_column
from stream.rows.row_batch import RowBatch

COLUMNS = ("href", "link_text", "outbound_domain")
HOST_SCHEMES = frozenset(("", "http", "https", "ftp"))
"""Schemes whose URLs have a host; in others (`whatsapp://send`) that part is a command."""
NO_TARGET_SCHEMES = frozenset(("about", "blob", "data", "javascript"))
"""Schemes without a target."""


@enrichment_step(reads=("page_properties",), repeatable=True)
def put_outbound_link(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Target, host and text of outbound clicks."""
    if not rows.has_column("outbound_domain"):
        return
    names = rows.item_field("name")
    if OUTBOUND_EVENTS.isdisjoint(names):
        rows.columns.update(dict.fromkeys(COLUMNS, constant_column(None, len(rows))))
        return
    hrefs, texts = rows.item_field("href"), rows.item_field("text")
    properties = rows.facts.page_properties
    columns: dict[str, list[str | None]] = {name: [None] * len(rows) for name in COLUMNS}
    for index, name in enumerate(names):
        if name in OUTBOUND_EVENTS:
            href = hrefs[index] or text(properties[index].href)
            columns["href"][index] = href[:MAX_URL_LENGTH] if href else None
            columns["link_text"][index] = link_text(texts[index] or text(properties[index].text))
            columns["outbound_domain"][index] = _domains[href] if href else None
    rows.columns.update(columns)


def link_text(raw: str | None) -> str | None:
    """The text of a link on one line; None when it is blank."""
    return printable(" ".join(raw.split()))[:MAX_URL_LENGTH] or None if raw else None


def target_domain(href: str) -> str | None:
    """The host of a link, or the scheme of a link to something else; None for a path alone."""
    url = split_url(href[:MAX_URL_LENGTH])
    if url.scheme in HOST_SCHEMES:
        return url.host or None
    return None if url.scheme in NO_TARGET_SCHEMES else f"{url.scheme}:"


_domains: GenerationalCache[str, str | None] = GenerationalCache(target_domain)
