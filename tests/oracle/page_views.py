"""Page views with the reports that belong to each: those until the next view of the page."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from tests.oracle.aggregates import is_view, there
from tests.oracle.stored_rows import Row, event_order


class PageView(Struct, frozen=True):
    """One page view, or the reports of one that began before the time range."""

    rows: list[Row]

    @property
    def first(self) -> Row:
        return self.rows[0]

    def told(self) -> dict[str, Any]:
        """The first row, with what all of them say of the page view."""
        return {
            **self.first,
            "seconds": self.sum("time_on_page"),
            "depth": max(there(self.rows, "scroll_depth"), default=None),
        }

    def sum(self, column: str) -> Decimal | int | None:
        values = there(self.rows, column)
        return sum(values) if values else None


def page_views(rows: Iterable[Row]) -> list[PageView]:
    """The page views of rows in the order of time."""
    found: list[PageView] = []
    open_views: dict[tuple[Any, Any], PageView] = {}
    for row in rows:
        if not is_view(row) and row["name"] != "page_exit":
            continue
        page = row["session_id"], row.get("path")
        if row["session_id"] is None or is_view(row) or page not in open_views:
            open_views[page] = PageView([])
            found.append(open_views[page])
        open_views[page].rows.append(row)
    return found


def told_views(matching: Sequence[Row], of_visits: Iterable[Row]) -> list[dict[str, Any]]:
    """The page views whose first row is one of those that match, with all that was reported."""
    kept = {event_order(row) for row in matching}
    alone = [row for row in matching if row["session_id"] is None]
    views = [*page_views(of_visits), *page_views(alone)]
    return [view.told() for view in views if event_order(view.first) in kept]
