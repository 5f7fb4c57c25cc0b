"""Web vitals: side by side, and a row for each metric."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.oracle.aggregates import (
    ResultRow,
    average,
    grouped,
    hidden,
    ordered,
    quantile,
    there,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row

SIDE_BY_SIDE = ("LCP", "FCP", "CLS", "INP", "TTFB")
PERCENTILES = (50, 75, 90, 95, 99)


def values(rows: list[Row], metric: str) -> list[Decimal]:
    """Measurements of one metric."""
    return there([row for row in rows if row["metric_name"] == metric], "metric_value")


def figure(name: str, rows: list[Row]) -> float | None:
    """`avg_lcp` is the mean of LCP, `p75_lcp` its percentile."""
    kind, _, metric = name.partition("_")
    measured = values(rows, metric.upper())
    if kind == "avg":
        return average(measured, 4)
    return quantile(measured, int(kind[1:]), 4)


def of_five(scoped: ScopedRows) -> list[Row]:
    """Measurements of the metrics that stand side by side."""
    return [row for row in scoped.vitals if row["metric_name"] in SIDE_BY_SIDE]


WIDE = (
    "avg_fcp",
    "p50_fcp",
    "avg_lcp",
    "p50_lcp",
    "avg_cls",
    "p50_cls",
    "avg_inp",
    "avg_ttfb",
    "p75_lcp",
    "p75_inp",
    "p75_cls",
)
NARROW = ("p50_lcp", "p50_fcp", "p50_cls", "p50_inp", "p50_ttfb")


def wide(column: str) -> Oracle:
    """Rows by a column, the slowest LCP first."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        result: list[ResultRow] = [
            {
                "name": name,
                "visitors": visitors(held),
                **{field: figure(field, held) for field in WIDE},
                "measurements": len(held),
                "_slow": quantile(values(held, "LCP"), 50, 8),
            }
            for name, held in grouped(of_five(scoped), lambda row: row.get(column)).items()
        ]
        return hidden(ordered(result, "-_slow", "-measurements", "name"))

    return Oracle(rows)


def narrow(column: str) -> Oracle:
    """Medians by a column."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        result: list[ResultRow] = [
            {
                "name": name,
                "visitors": visitors(held),
                **{field: figure(field, held) for field in NARROW},
                "samples": len(held),
            }
            for name, held in grouped(of_five(scoped), lambda row: row.get(column)).items()
        ]
        return ordered(result, "-samples", "name")

    return Oracle(rows)


def course(scoped: ScopedRows) -> list[ResultRow]:
    groups = grouped(of_five(scoped), scoped.bucket)
    return [
        {
            "date": point[0],
            **{
                name: figure(name, groups[point]) if point in groups else None
                for name in (*WIDE, "p50_inp", "p50_ttfb")
            },
            "measurements": len(groups.get(point, [])),
        }
        for point in scoped.points
    ]


def percentiles(rows: list[Row]) -> ResultRow:
    """The percentiles of rows of one metric."""
    measured = there(rows, "metric_value")
    return {f"p{n}": quantile(measured, n, 4) for n in PERCENTILES}


def overview(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "metric_name": metric,
            **percentiles(held),
            "avg_value": average(there(held, "metric_value"), 4),
            "samples": len(held),
        }
        for metric, held in grouped(scoped.vitals, lambda row: row["metric_name"]).items()
    ]
    return ordered(result, "metric_name")


def per(
    field: str, of: Callable[[ScopedRows, Row], Any]
) -> Callable[[ScopedRows], list[ResultRow]]:
    """Percentiles by something and metric."""

    def rows(scoped: ScopedRows) -> list[ResultRow]:
        def key(row: Row) -> tuple[Any, str] | None:
            value = of(scoped, row)
            return None if value is None else (value, row["metric_name"])

        return [
            {field: value, "metric_name": metric, **percentiles(held), "samples": len(held)}
            for (value, metric), held in grouped(scoped.vitals, key).items()
        ]

    return rows


def time_series(scoped: ScopedRows) -> list[ResultRow]:
    """In the order of time; nothing where nothing was measured."""
    result = ordered(per("date", lambda scoped, row: scoped.bucket(row))(scoped), "metric_name")
    result.sort(key=lambda row: scoped.points.index(row["date"]))
    return [{**row, "date": row["date"][0]} for row in result]


def by_page(scoped: ScopedRows) -> list[ResultRow]:
    result = per("page", lambda _seen, row: row.get("path"))(scoped)
    return ordered(result, "-samples", "page", "metric_name")


VITALS: Oracles = {
    "web_vitals_by_page": wide("path"),
    "web_vitals_by_browser": wide("browser_name"),
    "web_vitals_by_country": wide("country"),
    "web_vitals_by_os": wide("os_name"),
    "web_vitals_by_region": wide("region"),
    "web_vitals_by_device": wide("device_type"),
    "web_vitals_time_series": Oracle(course, series=True),
    "vitals_by_country": narrow("country"),
    "vitals_by_browser": narrow("browser_name"),
    "vitals_by_region": narrow("region"),
    "vitals_by_city": narrow("city"),
    "vitals_overview": Oracle(overview),
    "vitals_time_series": Oracle(time_series, 10_000),
    "vitals_by_page": Oracle(by_page, 50),
}
