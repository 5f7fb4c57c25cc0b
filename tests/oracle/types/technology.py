"""Page views by browser, operating system and device."""

from collections.abc import Callable
from typing import Any

from tests.oracle.aggregates import ResultRow, distinct, grouped, ordered, shared, views, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row

Key = Callable[[Row], tuple[Any, ...] | None]


def seen_on(
    key: Key,
    names: tuple[str, ...],
    *,
    order: tuple[str, ...] = ("-visitors", "-pageviews"),
    with_share: bool = False,
    shown: Callable[[ResultRow], ResultRow] = lambda row: row,
    limit: int = 100,
) -> Oracle:
    """Page views, visitors and sessions of each key; `shown` makes the row of the answer."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        result: list[ResultRow] = [
            {
                **dict(zip(names, value, strict=True)),
                "pageviews": len(held),
                "visitors": visitors(held),
                "sessions": distinct(held, "session_id"),
            }
            for value, held in grouped(views(scoped.events), key).items()
        ]
        ranked = ordered(shared(result) if with_share else result, *order, *names)
        return [shown(row) for row in ranked]

    return Oracle(rows, limit)


def by(*columns: str) -> Key:
    """The values of some columns; the first must be present."""

    def key(row: Row) -> tuple[Any, ...] | None:
        if row.get(columns[0]) is None:
            return None
        return tuple(row.get(column) or "" for column in columns)

    return key


def without(*names: str) -> Callable[[ResultRow], ResultRow]:
    """The row without some fields."""
    return lambda row: {name: value for name, value in row.items() if name not in names}


def system(row: Row) -> tuple[str] | None:
    """Operating system and version in one name."""
    if row.get("os_name") is None:
        return None
    return (" ".join(part for part in (row["os_name"], row.get("os_version")) if part is not None),)


def together(row: ResultRow) -> ResultRow:
    """With browser and version in one name, in front."""
    name = f"{row['browser_name']} {row['browser_version']}".rstrip()
    return {"name": name, **row}


TECHNOLOGY: Oracles = {
    "screen_resolution": seen_on(
        by("screen_resolution", "device_type"),
        ("name", "device_type"),
        with_share=True,
        shown=without("sessions"),
    ),
    "screen_resolutions": seen_on(by("screen_resolution"), ("name",), shown=without("sessions")),
    "browsers_grouped": seen_on(
        by("browser_name", "browser_version"), ("browser_name", "browser_version"), shown=together
    ),
    "os_versions": seen_on(system, ("name",), shown=without("sessions"), limit=25),
    "viewport_vs_resolution": seen_on(
        by("viewport_size", "device_type"),
        ("viewport_size", "device_type"),
        shown=without("sessions"),
        limit=200,
    ),
    "viewport_patterns": seen_on(
        by("viewport_size"),
        ("viewport_size",),
        order=("-visitors", "-sessions"),
        with_share=True,
        shown=without("pageviews"),
        limit=50,
    ),
}
