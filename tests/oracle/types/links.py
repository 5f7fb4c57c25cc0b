"""Clicks on one short link."""

from tests.oracle.facts import Row
from tests.oracle.question import Seen
from tests.oracle.spec import Oracle, Oracles
from tests.oracle.sums import Answer, grouped, ordered


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


LINKS: Oracles = {
    "link_total_clicks": Oracle(lambda seen: [{"total": len(seen.clicks)}]),
    "link_clicks_by_day": Oracle(by_day, series=True),
    "link_top_referrers": Oracle(referrers, 10),
    "link_top_devices": top("device_type", limit=100),
    "link_top_browsers": top("browser_name"),
    "link_top_countries": top("country", beside="country"),
}
