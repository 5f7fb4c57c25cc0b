"""Errors that pages reported."""

from tests.oracle.aggregates import ResultRow, distinct, grouped, ordered, visitors
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row
from tests.oracle.wall_clock import iso


def name_of(scoped: ScopedRows, row: Row) -> str:
    """The message of an error, or its pattern if the query says so."""
    name: str = row[scoped.query.options.get("by", "message")]
    return name


def messages(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "name": message,
            "count": len(held),
            "users": visitors(held),
            "last_seen": iso(held[-1]["ms"]),
        }
        for message, held in grouped(scoped.errors, lambda row: name_of(scoped, row)).items()
    ]
    return ordered(result, "-count", "name")


def pages(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {"name": path, "errors": len(held), "users": visitors(held)}
        for path, held in grouped(scoped.errors, lambda row: row.get("path") or "").items()
    ]
    return ordered(result, "-errors", "name")


def classes(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "name": name,
            "count": len(held),
            "users": visitors(held),
            "sessions": distinct(held, "session_id"),
        }
        for (name,), held in grouped(scoped.errors, lambda row: (row.get("error_type"),)).items()
    ]
    return ordered(result, "-count", "name")


def releases(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "name": name,
            "count": len(held),
            "users": visitors(held),
            "sessions": distinct(held, "session_id"),
            "first_seen": iso(held[0]["ms"]),
            "last_seen": iso(held[-1]["ms"]),
        }
        for (name,), held in grouped(scoped.errors, lambda row: (row.get("release"),)).items()
    ]
    return ordered(result, "-count", "name")


def trends(errors: str = "errors", users: str | None = "users") -> Oracle:
    """Errors, and the people who met them, of each bucket."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        groups = grouped(scoped.errors, scoped.bucket)
        return [
            {
                "date": point[0],
                errors: len(held := groups.get(point, [])),
                **({users: visitors(held)} if users else {}),
            }
            for point in scoped.points
        ]

    return Oracle(rows, series=True)


ERRORS: Oracles = {
    "error_types": Oracle(messages, 50),
    "errors_by_page": Oracle(pages, 20),
    "errors_by_type": Oracle(classes, 20),
    "errors_by_release": Oracle(releases, 20),
    "error_trends": trends(),
}
