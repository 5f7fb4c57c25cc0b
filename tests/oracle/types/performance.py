"""How fast pages load, in milliseconds."""

from tests.oracle.aggregates import (
    ResultRow,
    average,
    grouped,
    hidden,
    is_view,
    ordered,
    quantile,
    there,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row

REST = ("ttfb", "dom_ready_time", "render_time")


def loaded(scoped: ScopedRows) -> list[Row]:
    """Page views that took some time to load."""
    pages = [row for row in scoped.events if is_view(row) or row["name"] == "page_exit"]
    return [row for row in pages if (row.get("load_time") or 0) > 0]


def load(rows: list[Row]) -> ResultRow:
    """The load time."""
    took = there(rows, "load_time")
    return {"avg_load_time": average(took), "p50_load_time": quantile(took, 50)}


def rest(rows: list[Row]) -> ResultRow:
    """The other timings."""
    return {f"avg_{name}": average(there(rows, name)) for name in REST}


def by(column: str) -> Oracle:
    """Rows by a column, the slowest first."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        result: list[ResultRow] = [
            {
                "name": name,
                "visitors": visitors(held),
                **load(held),
                **rest(held),
                "pageviews": len(held),
                "_slow": quantile(there(held, "load_time"), 50, 8),
            }
            for name, held in grouped(loaded(scoped), lambda row: row.get(column)).items()
        ]
        return hidden(ordered(result, "-_slow", "-pageviews", "name"))

    return Oracle(rows)


def course(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(loaded(scoped), scoped.bucket)
    return [
        {"date": point[0], **load(held), **rest(held), "pageviews": len(held)}
        for point in scoped.points
        for held in [groups.get(point, [])]
    ]


def load_course(scoped: ScopedRows) -> list[ResultRow]:
    left_out = {f"avg_{name}" for name in REST}
    return [{k: v for k, v in row.items() if k not in left_out} for row in course(scoped)]


def overview(scoped: ScopedRows) -> list[ResultRow]:
    rows = loaded(scoped)
    return [
        {
            f"avg_{name}": average(there(rows, name))
            for name in ("load_time", "dom_ready_time", "render_time")
        }
    ]


PERFORMANCE: Oracles = {
    "slow_pages": by("path"),
    "performance_by_browser": by("browser_name"),
    "performance_by_country": by("country"),
    "performance_by_os": by("os_name"),
    "performance_by_region": by("region"),
    "performance_time_series": Oracle(course, series=True),
    "load_time_performance": Oracle(load_course, series=True),
    "performance_overview": Oracle(overview),
}
