"""Clicks that leave a website."""

from tests.oracle.aggregates import Answer, distinct, grouped, ordered, shared, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import Seen
from tests.oracle.stored_rows import Row
from tests.oracle.wall_clock import iso


def away(seen: Seen) -> list[Row]:
    """The clicks."""
    return [row for row in seen.events if row.get("outbound_domain") is not None]


def outbound_links(seen: Seen) -> list[Answer]:
    groups = grouped(away(seen), lambda row: (row.get("href") or "", row.get("link_text") or ""))
    answer: list[Answer] = [
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
    return ordered(shared(answer, "total_clicks"), "-total_clicks", "href", "text")


def outbound_domains(seen: Seen) -> list[Answer]:
    answer: list[Answer] = [
        {
            "domain": domain,
            "total_clicks": len(held),
            "unique_users": visitors(held),
            "unique_links": distinct(held, "href"),
        }
        for domain, held in grouped(away(seen), lambda row: row["outbound_domain"]).items()
    ]
    return ordered(shared(answer, "total_clicks"), "-total_clicks", "domain")


OUTBOUND: Oracles = {
    "outbound_links": Oracle(outbound_links),
    "outbound_domains": Oracle(outbound_domains),
}
