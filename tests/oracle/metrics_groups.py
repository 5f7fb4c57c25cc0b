"""Rows and visits grouped by every value that they have, one by one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from msgspec import Struct

from tests.oracle import wall_clock
from tests.oracle.aggregates import grouped
from tests.oracle.filters import FilterJson, all_hold
from tests.oracle.metric_values import METRICS, Group
from tests.oracle.page_views import told_views
from tests.oracle.query import ScopedRows, StandardQuery
from tests.oracle.sessions import sessions
from tests.oracle.stored_rows import Row, RowsByTable, unix_ms
from tests.oracle.visitor_times import buckets_told
from tests.oracle.visits import SOURCES, Visits, days_around, is_about_visits

BUCKETS = {
    "minute": "minute",
    "quarter_hour": "quarter_hour",
    "hour": "hourly",
    "day": "daily",
    "week": "weekly",
    "sunday_week": "sunday_week",
    "month": "monthly",
    "quarter": "quarterly",
    "year": "yearly",
}
TIME_BUCKETS = {f"time:{name}" for name in BUCKETS}
MEASURES = ("time_on_page", "scroll_depth")
"""Columns that have the name of a metric."""

Key = tuple[Any, ...]


class Asked(Protocol):
    """The parts of a query that decide about rows and groups."""

    @property
    def metrics(self) -> Sequence[str]: ...
    @property
    def dimensions(self) -> Sequence[str]: ...
    @property
    def filters(self) -> Sequence[FilterJson]: ...
    @property
    def zone(self) -> str: ...
    @property
    def scoped(self) -> StandardQuery: ...


class Point(Struct, frozen=True, order=True):
    """A bucket of time, in the order of time; two may have one label."""

    seconds: float
    label: str


def point(label: str, distance: int) -> Point:
    """The bucket with this label where clocks are so many seconds ahead of UTC."""
    local = datetime.fromisoformat(label).replace(tzinfo=UTC)
    return Point(local.timestamp() - distance, label)


def groups_of(held: RowsByTable, query: Asked) -> dict[Key, Group]:
    """Rows, visits, errors and vitals of each combination of values."""
    found: dict[Key, Group] = {}

    def group(key: Key) -> Group:
        return found.setdefault(key, Group())

    filters = ScopedRows(held, query.scoped).resolved(query.filters)
    events = told_rows(held, query)
    matching = [row for row in events if all_hold(row, filters)]
    for row in matching:
        group(_key(row, query, row)).rows.append(row)
    for error in told_rows(held, query, "errors"):
        if all_hold(error, filters):
            group(_key(error, query, error)).errors.append(error)
    for vital in told_rows(held, query, "vitals"):
        if all_hold(vital, filters):
            group(_key(vital, query, vital)).vitals.append(vital)
    _add_visits(events, query, filters, matching, group)
    return {
        key: each
        for key, each in found.items()
        if any(METRICS[name].has(each) for name in query.metrics)
    }


def _add_visits(
    events: Sequence[Row],
    query: Asked,
    filters: Sequence[FilterJson],
    matching: Sequence[Row],
    group: Any,
) -> None:
    kept = {row["session_id"] for row in matching} - {None}
    about_visits = [each for each in filters if is_about_visits(each)]
    rows = [row for row in events if all_hold(row, about_visits)]
    of_session = grouped(matching, lambda row: row["session_id"])
    of_visits = [row for row in rows if row["session_id"] in kept]
    for page_view in told_views(matching, of_visits):
        group(_key(page_view, query, page_view)).page_views.append(page_view)
    for visit in sessions(of_visits):
        start = visit.views[0]
        mine = of_session[start["session_id"]]
        for key in dict.fromkeys(_key(row, query, start) for row in mine):
            group(key).visits.append(visit)
        group(_key(start, query, start)).entries += 1
        group(_key(visit.views[-1], query, start)).exits += 1
        for view in visit.views:
            group(_key(view, query, start)).views_of_visits += 1


def told_rows(held: RowsByTable, query: Asked, table: str = "events") -> list[Row]:
    """All rows of the time range, with the facts of their visits."""
    scoped = ScopedRows(held, query.scoped)
    visits = Visits(scoped.between(*days_around(scoped.start_ms, scoped.end_ms)).events)
    return [
        {
            **_told(row, visits, table),
            **buckets_told(row, query.zone),
            **_times(row, query.zone),
            "is_new_here": _is_new_here(row, query),
        }
        for row in scoped.rows(table)
    ]


def _is_new_here(row: Row, query: Asked) -> bool | None:
    """Whether the first event of the visitor ever is in the time range and in the row's buckets."""
    is_new: bool | None = row["visitor.is_new"]
    if not is_new or row["visitor.first_seen"] is None:
        return is_new
    first = unix_ms(row["visitor.first_seen"])
    buckets = [name for name in query.dimensions if name in TIME_BUCKETS]
    return all(
        _part_of_time(first, b, query) == _part_of_time(row["ms"], b, query) for b in buckets
    )


def _times(row: Row, zone: str) -> Row:
    local = wall_clock.wall(row["ms"], zone)
    return {"time:hour_of_day": local.hour, "time:day_of_week": local.isoweekday()}


def _told(row: Row, visits: Visits, table: str) -> Row:
    told = visits.told(row, table)
    plain = {name: told[f"visit.{name}"] for name in SOURCES}
    own = {f"event.{name}": row.get(name) for name in MEASURES}
    device = {"anonymous_id": row["device"]}
    return {**told, **plain, **own, **device}


def _key(row: Row, query: Asked, timed: Row) -> Key:
    """The values of a row, with the time bucket of another row."""
    return tuple(
        _part_of_time(timed["ms"], name, query) if name.startswith("time:") else row.get(name)
        for name in query.dimensions
    )


def _part_of_time(ms: int, name: str, query: Asked) -> Any:
    part = name.removeprefix("time:")
    if part == "hour_of_day":
        return wall_clock.wall(ms, query.zone).hour
    if part == "day_of_week":
        return wall_clock.wall(ms, query.zone).isoweekday()
    label, distance = wall_clock.bucket(ms, query.zone, BUCKETS[part])
    return point(label, distance)
