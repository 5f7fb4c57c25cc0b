"""Outbound clicks: target, its host, and the text of the link. Set on no other event."""

from stream.enrich.lookups import Lookups, Memo
from stream.enrich.page import OUTBOUND, text
from stream.enrich.urls import cut
from stream.rows import Rows

COLUMNS = ("href", "link_text", "outbound_domain")


def put_outbound(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("outbound_domain"):
        return
    hrefs, labels, told = rows.given("href"), rows.given("text"), rows.facts["told"]
    columns: dict[str, list[str | None]] = {name: [None] * len(rows) for name in COLUMNS}
    for index, name in enumerate(rows.given("name")):
        if name in OUTBOUND:
            href = hrefs[index] or text(told[index].href) or text(told[index].url)
            columns["href"][index] = href
            columns["link_text"][index] = labels[index] or text(told[index].text)
            columns["outbound_domain"][index] = _domains[href] if href else None
    rows.columns.update(columns)


_domains: Memo[str, str | None] = Memo(lambda href: cut(href).host or None)
