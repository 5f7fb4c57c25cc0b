"""Clicks on one short link."""

from collections.abc import Callable

from tests.oracle.aggregates import Answer, grouped, ordered
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import Seen
from tests.oracle.stored_rows import Row


def by_day(seen: Seen) -> list[Answer]:
    groups = grouped(seen.clicks, seen.bucket)
    return [{"date": point[0], "clicks": len(groups.get(point, []))} for point in seen.points]


def source(row: Row) -> str:
    """Who referred."""
    return row.get("referrer_name") or row.get("referrer") or "Direct"


def referrers(seen: Seen) -> list[Answer]:
    """Several addresses of one referrer are one row, shown with the alphabetically first."""
    answer: list[Answer] = [
        {
            "name": name,
            "referrer": min(
                (row["referrer"] for row in held if row.get("referrer")), default="Direct"
            ),
            "clicks": len(held),
        }
        for name, held in grouped(seen.clicks, source).items()
    ]
    return ordered(answer, "-clicks", "name")


def top(column: str, *, beside: str = "", limit: int = 10) -> Oracle:
    """Clicks by a column, `Unknown` without it."""

    def rows(seen: Seen) -> list[Answer]:
        groups = grouped(seen.clicks, lambda row: row.get(column) or "Unknown")
        answer: list[Answer] = [
            {"name": name, **({beside: name} if beside else {}), "clicks": len(held)}
            for name, held in groups.items()
        ]
        return ordered(answer, "-clicks", "name")

    return Oracle(rows, limit)


def different(fact: Callable[[Row], str | None]) -> Oracle:
    """How many different values each bucket has."""

    def rows(seen: Seen) -> list[Answer]:
        groups = grouped(seen.clicks, seen.bucket)
        return [
            {"date": point[0], "value": len({fact(row) for row in groups.get(point, [])} - {None})}
            for point in seen.points
        ]

    return Oracle(rows, series=True)


def known_source(row: Row) -> str | None:
    """Who referred, unless nobody did."""
    return None if source(row) == "Direct" else source(row)


def place(column: str) -> Oracle:
    """Clicks by a column and the country."""

    def rows(seen: Seen) -> list[Answer]:
        groups = grouped(
            seen.clicks, lambda row: (row.get(column) or "Unknown", row.get("country") or "")
        )
        answer: list[Answer] = [
            {"name": name, "country": country, "clicks": len(held)}
            for (name, country), held in groups.items()
        ]
        return ordered(answer, "-clicks", "name", "country")

    return Oracle(rows, 10)


LINKS: Oracles = {
    "link_referrers_by_day": different(known_source),
    "link_countries_by_day": different(lambda row: row.get("country")),
    "link_top_regions": place("region"),
    "link_top_cities": place("city"),
    "link_total_clicks": Oracle(lambda seen: [{"total": len(seen.clicks)}]),
    "link_clicks_by_day": Oracle(by_day, series=True),
    "link_top_referrers": Oracle(referrers, 10),
    "link_top_devices": top("device_type", limit=100),
    "link_top_browsers": top("browser_name"),
    "link_top_countries": top("country", beside="country"),
}
