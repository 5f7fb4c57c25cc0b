"""Bots by name, purpose, page and time."""

from collections.abc import Sequence

from tests.oracle.aggregates import ResultRow, distinct, grouped, ordered, views
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.wall_clock import iso


def of_bots(rows: Sequence[Row]) -> list[Row]:
    """The rows that are flagged."""
    return [row for row in rows if row["is_bot"] is True]


def named(row: Row) -> tuple[str, str]:
    """Purpose and name: what is before and after the first colon."""
    purpose, _, name = (row.get("bot_reason") or "").partition(": ")
    return purpose, name


def seen(rows: Sequence[Row]) -> ResultRow:
    """When the first and the last of them was."""
    return {"first_seen": iso(rows[0]["ms"]), "last_seen": iso(rows[-1]["ms"])}


def bots(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "name": name,
            "purpose": purpose,
            "events": len(held),
            "pageviews": len(views(held)),
            "pages": distinct(held, "path"),
            **seen(held),
        }
        for (purpose, name), held in grouped(of_bots(scoped.with_bots.events), named).items()
    ]
    return ordered(result, "-events", "purpose", "name")


def bot_pages(scoped: ScopedRows) -> list[ResultRow]:
    rows = [row for row in of_bots(scoped.with_bots.events) if row.get("path") is not None]
    result: list[ResultRow] = [
        {
            "path": path,
            "name": name,
            "purpose": purpose,
            "events": len(held),
            "last_seen": iso(held[-1]["ms"]),
        }
        for (path, (purpose, name)), held in grouped(
            rows, lambda row: (row["path"], named(row))
        ).items()
    ]
    return ordered(result, "-events", "path", "purpose", "name")


def by_time(scoped: ScopedRows) -> list[ResultRow]:
    of_bucket = grouped(of_bots(scoped.with_bots.events), scoped.bucket)
    result: list[ResultRow] = []
    for point in scoped.points:
        names = [named(row) for row in of_bucket.get(point, [])]
        purposes = [purpose for purpose, _ in names]
        result.append(
            {
                "date": point[0],
                "events": len(names),
                "ai_events": purposes.count("ai crawler") + purposes.count("ai assistant"),
                "search_events": purposes.count("search"),
                "bots": len(set(names)),
            }
        )
    return result


def link_bots(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"name": name, "purpose": purpose, "clicks": len(held), **seen(held)}
        for (purpose, name), held in grouped(of_bots(scoped.with_bots.clicks), named).items()
    ]
    return ordered(result, "-clicks", "purpose", "name")


BOTS: Oracles = {
    "bots": Oracle(bots),
    "bot_pages": Oracle(bot_pages),
    "bots_time_series": Oracle(by_time, series=True),
    "link_bots": Oracle(link_bots),
}
