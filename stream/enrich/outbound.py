"""Outbound clicks: target, its host, and the text of the link. Set on no other event."""

from stream.enrich.lookups import Lookups, Memo
from stream.enrich.page import OUTBOUND, text
from stream.enrich.urls import cut
from stream.rows import Rows

NOTHING = (None, None, None)


def put_outbound(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("outbound_domain"):
        return
    clicks = [
        _click(href or text(told.href) or text(told.url), label or text(told.text))
        if name in OUTBOUND
        else NOTHING
        for name, href, label, told in zip(
            rows.given("name"),
            rows.given("href"),
            rows.given("text"),
            rows.facts["told"],
            strict=True,
        )
    ]
    rows.put(("href", "link_text", "outbound_domain"), clicks)


def _click(href: str | None, label: str | None) -> tuple[str | None, str | None, str | None]:
    return href, label, (_domains[href] if href else None)


_domains: Memo[str, str | None] = Memo(lambda href: cut(href).host or None)
