"""Clicks that leave a website."""

from tests.oracle.aggregates import ResultRow, distinct, grouped, ordered, shared, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.wall_clock import iso


def away(scoped: ScopedRows) -> list[Row]:
    """The clicks."""
    return [row for row in scoped.events if row.get("outbound_domain") is not None]


def outbound_links(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(away(scoped), lambda row: (row.get("href") or "", row.get("link_text") or ""))
    result: list[ResultRow] = [
        {
            "href": href,
            "text": text,
            "total_clicks": len(held),
            "unique_users": visitors(held),
            "unique_sessions": distinct(held, "session_id"),
            "last_clicked": iso(held[-1]["ms"]),
        }
        for (href, text), held in groups.items()
    ]
    return ordered(shared(result, "total_clicks"), "-total_clicks", "href", "text")


def outbound_domains(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "domain": domain,
            "total_clicks": len(held),
            "unique_users": visitors(held),
            "unique_links": distinct(held, "href"),
        }
        for domain, held in grouped(away(scoped), lambda row: row["outbound_domain"]).items()
    ]
    return ordered(shared(result, "total_clicks"), "-total_clicks", "domain")


OUTBOUND: Oracles = {
    "outbound_links": Oracle(outbound_links),
    "outbound_domains": Oracle(outbound_domains),
}
