"""Engagement with pages, as reported when they were left."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tests.oracle.aggregates import (
    Nothing,
    ResultRow,
    average,
    grouped,
    hidden,
    ordered,
    percent,
    quantile,
    rounded,
    there,
    visitors,
)
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import Row


def more_than_none(rows: Iterable[Row], column: str) -> list[Row]:
    """Rows in which something was counted."""
    return [row for row in rows if (row.get(column) or 0) > 0]


def most_often(values: Iterable[Any]) -> str | None:
    """The value that is there most often, of several the first in the alphabet."""
    counted = Counter(value for value in values if value)
    return min(counted, key=lambda value: (-counted[value], value)) if counted else None


SUMMED = (
    *("time_on_page", "active_time", "interaction_count", "rage_click_count", "dead_click_count"),
    *("error_count", "form_submit_count"),
)


def reported_views(scoped: ScopedRows) -> list[list[Row]]:
    """The reports of each page view: those that go on after it was hidden."""
    found: list[list[Row]] = []
    last: dict[Any, list[Row]] = {}
    for row in scoped.rows("engagement"):
        page = row["session_id"], row.get("path")
        before = last.get(page)
        if (
            before is not None
            and row["session_id"] is not None
            and row.get("time_to_first_interaction") is None
            and before[-1].get("exit_type") == "hidden"
        ):
            before.append(row)
        else:
            last[page] = [row]
            found.append(last[page])
    return found


def views_by_path(scoped: ScopedRows) -> dict[Any, list[Row]]:
    """Page views as one row each."""
    told = []
    for rows in reported_views(scoped):
        sums = {c: sum(found) if (found := there(rows, c)) else None for c in SUMMED}
        greatest = {
            column: max(there(rows, column), default=None)
            for column in ("max_scroll_depth", "form_field_count", "time_to_first_interaction")
        }
        last_field = {"last_form_field": rows[-1].get("last_form_field")}
        told.append({**rows[0], **sums, **greatest, **last_field, "_reports": rows})
    return grouped(told, lambda row: row.get("path"))


def reports(views: Iterable[Row]) -> list[Row]:
    """All reports of page views."""
    return [row for view in views for row in view["_reports"]]


def frustration(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = []
    for path, held in views_by_path(scoped).items():
        if len(held) < 5:
            continue
        raged = more_than_none(held, "rage_click_count")
        vain = more_than_none(held, "dead_click_count")
        failed = more_than_none(held, "error_count")
        result.append(
            {
                "name": path,
                "page_views": len(held),
                "visitors": visitors(held),
                "rage_click_rate": percent(len(raged), len(held)),
                "dead_click_rate": percent(len(vain), len(held)),
                "error_rate": percent(len(failed), len(held)),
                "top_dead_click_target": most_often(
                    row.get("dead_click_target")
                    for row in more_than_none(reports(held), "dead_click_count")
                ),
                "top_rage_click_target": most_often(
                    row.get("rage_click_target")
                    for row in more_than_none(reports(held), "rage_click_count")
                ),
                "_trouble": len(raged) + len(vain) + len(failed),
            }
        )
    return hidden(ordered(result, "-_trouble", "-page_views", "name"))


def forms(scoped: ScopedRows) -> list[ResultRow]:
    touched = ("form_field_count", "form_submit_count")
    result: list[ResultRow] = []
    for path, views in views_by_path(scoped).items():
        held = [view for view in views if any((view[column] or 0) > 0 for column in touched)]
        left = [view for view in held if not view["form_submit_count"]]
        if held:
            result.append(
                {
                    "name": path,
                    "form_starts": len(held),
                    "form_submits": len(more_than_none(held, "form_submit_count")),
                    "abandonment_rate": percent(len(left), len(held)),
                    "top_abandoned_field": most_often(view["last_form_field"] for view in left),
                }
            )
    return ordered(result, "-form_starts", "name")


def quality(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = []
    for path, held in views_by_path(scoped).items():
        measured = [row for row in held if row.get("active_time") is not None]
        measured = [row for row in measured if row.get("time_on_page") is not None]
        active = sum(Fraction(row["active_time"]) for row in measured)
        whole = sum(Fraction(row["time_on_page"]) for row in measured)
        first = [value for value in there(held, "time_to_first_interaction") if value > 0]
        result.append(
            {
                "name": path,
                "page_views": len(held),
                "avg_time_on_page": average(there(held, "time_on_page")),
                "avg_active_time": average(there(held, "active_time")),
                "attention_ratio": rounded(100 * active / whole) if whole else Nothing(),
                "avg_scroll_depth": average(there(held, "max_scroll_depth")),
                "avg_interactions": average(there(held, "interaction_count")),
                "median_time_to_first_interaction": quantile(first, 50),
            }
        )
    return ordered(result, "-page_views", "name")


PAGE_QUALITY: Oracles = {
    "frustration_by_page": Oracle(frustration),
    "form_abandonment_by_page": Oracle(forms),
    "engagement_quality_by_page": Oracle(quality),
}
