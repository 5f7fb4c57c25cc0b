"""Clicks on one short link."""

from collections.abc import Callable

from tests.oracle.aggregates import ResultRow, grouped, ordered
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row


def by_day(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(scoped.clicks, scoped.bucket)
    return [{"date": point[0], "clicks": len(groups.get(point, []))} for point in scoped.points]


def source(row: Row) -> str:
    """Who referred."""
    return row.get("referrer_name") or row.get("referrer") or "Direct"


def referrers(scoped: ScopedRows) -> list[ResultRow]:
    """Several addresses of one referrer are one row, shown with the alphabetically first."""
    result: list[ResultRow] = [
        {
            "name": name,
            "referrer": min(
                (row["referrer"] for row in held if row.get("referrer")), default="Direct"
            ),
            "clicks": len(held),
        }
        for name, held in grouped(scoped.clicks, source).items()
    ]
    return ordered(result, "-clicks", "name")


def top(column: str, *, beside: str = "", limit: int = 10) -> Oracle:
    """Clicks by a column, `Unknown` without it."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        groups = grouped(scoped.clicks, lambda row: row.get(column) or "Unknown")
        result: list[ResultRow] = [
            {"name": name, **({beside: name} if beside else {}), "clicks": len(held)}
            for name, held in groups.items()
        ]
        return ordered(result, "-clicks", "name")

    return Oracle(rows, limit)


def different(fact: Callable[[Row], str | None]) -> Oracle:
    """How many different values each bucket has."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        groups = grouped(scoped.clicks, scoped.bucket)
        return [
            {"date": point[0], "value": len({fact(row) for row in groups.get(point, [])} - {None})}
            for point in scoped.points
        ]

    return Oracle(rows, series=True)


def known_source(row: Row) -> str | None:
    """The name of the referrer; None for direct clicks."""
    return None if source(row) == "Direct" else source(row)


def location(column: str) -> Oracle:
    """Clicks by a column and the country."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        groups = grouped(
            scoped.clicks, lambda row: (row.get(column) or "Unknown", row.get("country") or "")
        )
        result: list[ResultRow] = [
            {"name": name, "country": country, "clicks": len(held)}
            for (name, country), held in groups.items()
        ]
        return ordered(result, "-clicks", "name", "country")

    return Oracle(rows, 10)


LINKS: Oracles = {
    "link_referrers_by_day": different(known_source),
    "link_countries_by_day": different(lambda row: row.get("country")),
    "link_top_regions": location("region"),
    "link_top_cities": location("city"),
    "link_total_clicks": Oracle(lambda scoped: [{"total": len(scoped.clicks)}]),
    "link_clicks_by_day": Oracle(by_day, series=True),
    "link_top_referrers": Oracle(referrers, 10),
    "link_top_devices": top("device_type", limit=100),
    "link_top_browsers": top("browser_name"),
    "link_top_countries": top("country", beside="country"),
}
