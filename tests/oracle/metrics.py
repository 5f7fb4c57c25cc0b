"""Oracle of metrics queries: rows and visits grouped by every value that they have, one by one."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct

from tests.oracle import wall_clock
from tests.oracle.aggregates import ResultRow, average, grouped, is_view, median, rounded, there
from tests.oracle.filters import all_hold
from tests.oracle.query import ScopedRows, StandardQuery
from tests.oracle.sessions import Session, sessions
from tests.oracle.stored_rows import Row, RowsByTable, unix_ms
from tests.oracle.wall_clock import iso

DAY_MS = 86_400_000
SOURCES = (
    "referrer",
    "referrer_name",
    "referrer_type",
    "channel",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "click_id",
)
VISIT_COLUMNS: Mapping[str, str] = {
    **{name: name for name in SOURCES},
    "landing_host": "host",
    "entry_page": "path",
    "exit_page": "path",
    **{
        name: name
        for name in (
            "browser_name",
            "browser_version",
            "os_name",
            "os_version",
            "device_type",
            "country",
            "region",
            "city",
            "language",
            "timezone",
        )
    },
}
"""Facts of a visit, by the column of the page view that tells them."""
BUCKETS = {"hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly"}

Key = tuple[Any, ...]


class MetricsQuery(Struct, frozen=True, kw_only=True):
    """One metrics question, as it is sent."""

    metrics: Sequence[str]
    start: date
    end: date
    dimensions: Sequence[str] = ()
    filters: Sequence[Mapping[str, Any]] = ()
    having: Sequence[Mapping[str, Any]] = ()
    order_by: Sequence[Mapping[str, str]] = ()
    subject: str = "shop"
    zone: str = "UTC"
    limit: int | None = None
    page: int = 1
    include_bots: bool = False

    @property
    def body(self) -> Mapping[str, Any]:
        """The body of its request."""
        limit = {} if self.limit is None else {"limit": self.limit}
        return {
            "metrics": list(self.metrics),
            "dimensions": list(self.dimensions),
            "filters": list(self.filters),
            "having": list(self.having),
            "orderBy": list(self.order_by),
            "startDate": self.start.isoformat(),
            "endDate": self.end.isoformat(),
            "timezone": self.zone,
            "page": self.page,
            "include_bots": self.include_bots,
            **limit,
        }


class Group:
    """What one combination of values has."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.visits: list[Session] = []
        self.entries = 0
        self.exits = 0
        self.views_of_visits = 0


def expected_result(held: RowsByTable, query: MetricsQuery) -> list[ResultRow]:
    """The rows that the service should give."""
    groups = _groups(held, query)
    if not query.dimensions:
        groups.setdefault((), Group())
    series = _is_series(query)
    if series:
        groups |= {(point,): groups.get((point,), Group()) for point in _points(held, query)}
    found = [
        (key, {name: METRICS[name](group) for name in query.metrics})
        for key, group in groups.items()
    ]
    kept = [(key, row) for key, row in found if all_hold(row, query.having)]
    ordered = _ordered(kept, query)
    limit = query.limit or (10_000 if series else 1_000)
    page = ordered[(query.page - 1) * limit : query.page * limit]
    return [
        {**dict(zip(query.dimensions, map(_shown, key), strict=True)), **row} for key, row in page
    ]


def _groups(held: RowsByTable, query: MetricsQuery) -> dict[Key, Group]:
    rows = told_rows(held, query)
    matching = [row for row in rows if all_hold(row, query.filters)]
    kept = {row["session_id"] for row in matching} - {None}
    visits = sessions([row for row in rows if row["session_id"] in kept])
    found: dict[Key, Group] = {}

    def group(key: Key) -> Group:
        return found.setdefault(key, Group())

    for row in matching:
        group(_key(row, query, row)).rows.append(row)
    of_session = grouped(matching, lambda row: row["session_id"])
    for visit in visits:
        start = visit.views[0]
        mine = of_session[start["session_id"]]
        for key in dict.fromkeys(_key(row, query, start) for row in mine):
            group(key).visits.append(visit)
        if "entries" in query.metrics:
            group(_key(start, query, start)).entries += 1
        if {"exits", "exit_rate"} & {*query.metrics}:
            group(_key(visit.views[-1], query, start)).exits += 1
        if "exit_rate" in query.metrics:
            for view in visit.views:
                group(_key(view, query, start)).views_of_visits += 1
    return {key: each for key, each in found.items() if _is_asked(each, query)}


def _is_asked(group: Group, query: MetricsQuery) -> bool:
    """Whether a metric of the question is about what the group has."""
    of_rows = any(name in OF_ROWS for name in query.metrics)
    of_visits = any(name in OF_VISITS for name in query.metrics)
    ends = group.entries or group.exits or group.views_of_visits
    return bool((of_rows and group.rows) or (of_visits and group.visits) or ends)


def told_rows(held: RowsByTable, query: MetricsQuery) -> list[Row]:
    """All rows of the time range, with the facts of their visits."""
    plain = StandardQuery(
        name="",
        start=query.start,
        end=query.end,
        subject=query.subject,
        zone=query.zone,
        include_bots=query.include_bots,
    )
    scoped = ScopedRows(held, plain)
    around = scoped.between(scoped.start_ms - DAY_MS, scoped.end_ms + DAY_MS)
    views = grouped(filter(is_view, around.events), lambda row: row["session_id"])
    known = {row["anonymous_id"] for row in scoped.between(0, scoped.start_ms).events}
    return [
        {**row, **_facts(row, views), "visitor.is_new": _is_new(row, known)}
        for row in scoped.events
    ]


def _is_new(row: Row, known: set[str | None]) -> bool | None:
    return None if row["anonymous_id"] is None else row["anonymous_id"] not in known


def _facts(row: Row, views: Mapping[str, list[Row]]) -> Mapping[str, Any]:
    facts: dict[str, Any] = {}
    for name, column in VISIT_COLUMNS.items():
        if row["session_id"] is None:
            value = row.get(column)
        else:
            seen = views.get(row["session_id"], [])
            value = seen[-1 if name == "exit_page" else 0].get(column) if seen else None
        facts[f"visit.{name}"] = value
    for name in SOURCES:
        facts[f"event.{name}"] = row.get(name)
        facts[name] = facts[f"visit.{name}"]
    return facts


def _key(row: Row, query: MetricsQuery, timed: Row) -> Key:
    """The values of a row; its part of time is that of another row."""
    return tuple(
        _part_of_time(timed["ms"], name, query) if name.startswith("time:") else row.get(name)
        for name in query.dimensions
    )


def _part_of_time(ms: int, name: str, query: MetricsQuery) -> Any:
    part = name.removeprefix("time:")
    if part == "hour_of_day":
        return wall_clock.wall(ms, query.zone).hour
    if part == "day_of_week":
        return wall_clock.wall(ms, query.zone).isoweekday()
    label, distance = wall_clock.bucket(ms, query.zone, BUCKETS[part])
    return Point(label, -distance)


class Point(Struct, frozen=True, order=True):
    """A bucket of time; of two hours with one label, the first is further east."""

    label: str
    west: int


def _is_series(query: MetricsQuery) -> bool:
    """Whether every bucket is in the answer."""
    if len(query.dimensions) != 1 or query.having:
        return False
    return query.dimensions[0].removeprefix("time:") in BUCKETS


def _points(held: RowsByTable, query: MetricsQuery) -> list[Point]:
    start_ms, end_ms = wall_clock.bounds(query.start, query.end, query.zone)
    granularity = BUCKETS[query.dimensions[0].removeprefix("time:")]
    points = wall_clock.points(start_ms, end_ms, query.zone, granularity)
    return [Point(label, -distance) for label, distance in points]


def _ordered(found: list[tuple[Key, ResultRow]], query: MetricsQuery) -> list[Any]:
    default = {"field": query.metrics[0], "direction": "desc"}
    if query.dimensions and query.dimensions[0].startswith("time:"):
        default = {"field": query.dimensions[0], "direction": "asc"}
    ties = [{"field": name, "direction": "asc"} for name in query.dimensions]
    rows = list(found)
    for term in reversed([*(query.order_by or [default]), *ties]):
        name, descending = term["field"], term["direction"] == "desc"
        rows.sort(key=lambda each: _rank(each, name, descending, query), reverse=descending)
    return rows


def _rank(each: tuple[Key, ResultRow], name: str, descending: bool, query: MetricsQuery) -> Any:
    key, row = each
    value = key[query.dimensions.index(name)] if name in query.dimensions else row[name]
    return ((value is None) is not descending, 0 if value is None else value)


def _shown(value: Any) -> Any:
    if isinstance(value, Point):
        return value.label
    if isinstance(value, datetime):
        return iso(unix_ms(value))
    return float(value) if isinstance(value, Decimal) else value


def _of(part: Fraction | int, whole: int, times: int = 1) -> float | None:
    return rounded(Fraction(part) * times / whole) if whole else None


def _mean_of(column: str) -> Callable[[Group], float | None]:
    """The mean over page views and page exits."""

    def mean(group: Group) -> float | None:
        pages = [row for row in group.rows if is_view(row) or row["name"] == "page_exit"]
        return average(there(pages, column))

    return mean


def _median_duration(group: Group) -> float | None:
    lasted = [Fraction(visit.milliseconds, 1000) for visit in group.visits]
    return rounded(median(lasted)) if lasted else None


OF_ROWS: Mapping[str, Callable[[Group], Any]] = {
    "visitors": lambda group: len({row["anonymous_id"] for row in group.rows} - {None}),
    "page_views": lambda group: sum(map(is_view, group.rows)),
    "events": lambda group: len(group.rows),
    "time_on_page": _mean_of("time_on_page"),
    "scroll_depth": _mean_of("scroll_depth"),
}
OF_VISITS: Mapping[str, Callable[[Group], Any]] = {
    "visits": lambda group: len(group.visits),
    "bounce_rate": lambda group: _of(
        sum(visit.bounced for visit in group.visits), len(group.visits), 100
    ),
    "visit_duration": lambda group: _of(
        Fraction(sum(visit.milliseconds for visit in group.visits), 1000), len(group.visits)
    ),
    "median_visit_duration": _median_duration,
    "views_per_visit": lambda group: _of(
        sum(len(visit.views) for visit in group.visits), len(group.visits)
    ),
}
METRICS: Mapping[str, Callable[[Group], Any]] = {
    **OF_ROWS,
    **OF_VISITS,
    "entries": lambda group: group.entries,
    "exits": lambda group: group.exits,
    "exit_rate": lambda group: _of(group.exits, group.views_of_visits, 100),
}
