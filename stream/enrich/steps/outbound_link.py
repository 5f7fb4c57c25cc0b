"""Outbound clicks: target, its host, and the text of the link. Set on no other event.

A target without a host is known by its scheme: `mailto:`, `tel:`, `whatsapp:`.
"""

from stream.enrich.rules.lookups import Lookups, Memo
from stream.enrich.rules.page_urls import LETTERS
from stream.enrich.rules.urls import cut, plain
from stream.enrich.steps.page import OUTBOUND, text
from stream.rows.row_batch import Rows

COLUMNS = ("href", "link_text", "outbound_domain")
WEB = frozenset(("", "http", "https", "ftp"))
"""Schemes whose URLs have a host; elsewhere (`whatsapp://send`) a command stands in its place."""
INERT = frozenset(("about", "blob", "data", "javascript"))
"""Schemes that lead nowhere."""


def put_outbound(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("outbound_domain"):
        return
    hrefs, labels, told = rows.given("href"), rows.given("text"), rows.facts["told"]
    columns: dict[str, list[str | None]] = {name: [None] * len(rows) for name in COLUMNS}
    for index, name in enumerate(rows.given("name")):
        if name in OUTBOUND:
            href = hrefs[index] or text(told[index].href)
            columns["href"][index] = href[:LETTERS] if href else None
            columns["link_text"][index] = label(labels[index] or text(told[index].text))
            columns["outbound_domain"][index] = _domains[href] if href else None
    rows.columns.update(columns)


def label(written: str | None) -> str | None:
    """The text of a link on one line; None when nothing is written in it."""
    return plain(" ".join(written.split()))[:LETTERS] or None if written else None


def read_domain(href: str) -> str | None:
    """Where a link leads: a host, or the scheme of what is no page; None for a mere path."""
    url = cut(href[:LETTERS])
    if url.scheme in WEB:
        return url.host or None
    return None if url.scheme in INERT else f"{url.scheme}:"


_domains: Memo[str, str | None] = Memo(read_domain)
