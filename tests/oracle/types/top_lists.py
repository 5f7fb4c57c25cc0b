"""Page views by one column, and sessions by entry and exit page."""

from collections.abc import Callable
from typing import Any

from tests.oracle.aggregates import ResultRow, grouped, ordered, shared, views, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row


def by(fact: Callable[[Row], Any], *names: str, limit: int = 100) -> Oracle:
    """Page views by a fact: a value, or one value for each of the names."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        groups = grouped(views(scoped.events), fact)
        return tallied({_tuple(value): held for value, held in groups.items()}, names)

    return Oracle(rows, limit)


def sourced(fact: Callable[[Row], Any]) -> Oracle:
    """Page views by a fact of their visit."""
    return by(fact, "name")


def tallied(groups: dict[tuple[Any, ...], list[Row]], names: tuple[str, ...]) -> list[ResultRow]:
    """Page views and visitors of each group, by visitors."""
    result = [
        {
            **dict(zip(names, value, strict=True)),
            "pageviews": len(held),
            "visitors": visitors(held),
        }
        for value, held in groups.items()
    ]
    return ordered(shared(result), "-visitors", "-pageviews", *names)


def column(name: str, limit: int = 100) -> Oracle:
    """Rows by a stored column; missing values are left out."""
    return by(lambda row: row.get(name), "name", limit=limit)


def two(first: str, second: str, *names: str) -> Oracle:
    """Rows by two columns: a missing second is empty, a missing first is left out."""

    def pair(row: Row) -> tuple[str, str] | None:
        return None if row.get(first) is None else (row[first], row.get(second) or "")

    return by(pair, *names)


def source(row: Row) -> str:
    """Who referred."""
    return row["visit.referrer_name"] or row["visit.referrer"] or "Direct"


def tagged_source(row: Row) -> str:
    """Who referred, or what the link says."""
    return referrer(row) or row["visit.utm_source"] or "Direct"


def referrer(row: Row) -> str | None:
    """The name of the referrer; None for direct views."""
    return None if source(row) == "Direct" else source(row)


def entry_or_exit(position: int) -> Oracle:
    """Sessions by their first (0) or last (-1) page; a visitor is who viewed it in the span."""
    fact = ("visit.entry_page", "visit.exit_page")[position]

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        edges = [session.views[position] for session in sessions(scoped.visit_events)]
        groups = grouped(edges, lambda row: row[fact])
        return tallied({(path,): held for path, held in groups.items()}, ("name",))

    return Oracle(rows)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


TOPS: Oracles = {
    "top_pages": column("path"),
    "pages": column("path"),
    "top_path_groups": column("path_group"),
    "top_folders": column("folder"),
    "traffic_sources": sourced(source),
    "traffic": sourced(source),
    "top_referrers": sourced(referrer),
    "channels": sourced(lambda row: row["visit.channel"]),
    "utm_sources": sourced(lambda row: row["visit.utm_source"]),
    "utm_mediums": sourced(lambda row: row["visit.utm_medium"]),
    "utm_campaigns": sourced(lambda row: row["visit.utm_campaign"]),
    "utm_terms": sourced(lambda row: row["visit.utm_term"]),
    "utm_content": sourced(lambda row: row["visit.utm_content"]),
    "browser_name": column("browser_name"),
    "browsers": column("browser_name", limit=25),
    "os_name": column("os_name"),
    "operating_systems": column("os_name"),
    "device_types": column("device_type", limit=20),
    "country": column("country"),
    "language": column("language"),
    "timezone": column("timezone"),
    "region": two("region", "country", "name", "country"),
    "city": two("city", "country", "name", "country"),
    "browser_versions": two("browser_name", "browser_version", "browser_name", "browser_version"),
    "entry_pages": entry_or_exit(0),
    "exit_pages": entry_or_exit(-1),
}
