"""Content of a report: figures, a series and tables, each beside the period before.

The numbers come from metrics queries and custom queries, like those of the dashboard. What reports
show as a mail, a PDF or a CSV file is made of this value alone.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from query.metrics.metric import Unit
from query.metrics.metrics import BY_NAME
from query.reports.schedule import Period, Schedule, period_before
from schemas.errors import ApiError
from schemas.registry import Board, Exploration, Goal, Report, SavedRecords, Website
from schemas.registry.saved_records import MAX_TABLES

Rows = Sequence[Mapping[str, Any]]
Filters = list[dict[str, Any]]
Ask = Callable[[str, Mapping[str, Any], Sequence[Period]], Awaitable[Sequence[Rows]]]
"""Rows of a `metrics_query` or `custom_query`, without dates, in each of the periods."""
Both = Callable[[Mapping[str, Any]], Awaitable[tuple[Rows, Rows]]]
"""Rows of a metrics query in both periods; one empty row without a period before."""
METRICS, CUSTOM = "metrics_query", "custom_query"

MAX_ROWS = 10
MAX_GOALS = 10
MAX_COLUMNS = 5
"""Columns of an exploration: more do not fit a mail."""
DELETED = "This exploration was deleted."


class Figure(Struct, frozen=True):
    """A number of the whole period; None where there was nothing to compute it from."""

    label: str
    value: float | None
    previous: float | None
    unit: Unit
    less_is_better: bool = False


class Point(Struct, frozen=True):
    """The visitors of a day or an hour, and of the same one of the period before."""

    label: str
    value: int | None
    previous: int | None


class Row(Struct, frozen=True):
    """One line of a table."""

    name: str
    values: tuple[Any, ...]
    previous: float | None = None
    """The first value in the period before."""


class Table(Struct, frozen=True):
    """Rows under a title; a problem instead, if they could not be read."""

    title: str
    columns: tuple[str, ...]
    """That of the names, then those of the values."""
    rows: tuple[Row, ...] = ()
    units: tuple[Unit, ...] = ()
    """Of the values; empty: as they are."""
    problem: str = ""


class Content(Struct, frozen=True):
    """What one report says."""

    name: str
    website: str
    """Its name or domain."""
    zone: str
    schedule: Schedule
    period: Period
    before: Period | None
    figures: tuple[Figure, ...]
    points: tuple[Point, ...]
    tables: tuple[Table, ...]
    is_filtered: bool = False


class Breakdown(Struct, frozen=True):
    """A table of the most frequent values of a dimension."""

    title: str
    heading: str
    dimension: str
    metrics: tuple[str, ...]
    limit: int
    nothing: str
    """Name of the rows without a value; empty: they are left out."""
    named: Callable[[str], str] = str


def country_name(code: str) -> str:
    """As the time zone database calls it; the code of another."""
    return _countries().get(code.upper(), code)


def device_name(device: str) -> str:
    """As `Desktop`."""
    return device[:1].upper() + device[1:]


HEADLINES = ("visitors", "visits", "page_views", "bounce_rate", "median_visit_duration")
BREAKDOWNS = (
    Breakdown("Top pages", "Page", "path", ("page_views", "visitors"), MAX_ROWS, ""),
    Breakdown("Channels", "Channel", "visit.channel", ("visitors", "visits"), 6, "Unknown"),
    Breakdown("Sources", "Source", "visit.referrer_name", ("visitors", "visits"), MAX_ROWS, ""),
    Breakdown(
        "Countries", "Country", "visit.country", ("visitors", "visits"), 6, "Unknown", country_name
    ),
    Breakdown(
        "Devices", "Device", "visit.device_type", ("visitors", "visits"), 4, "Unknown", device_name
    ),
)
LABELS: Mapping[str, str] = {
    "visitors": "Visitors",
    "visits": "Visits",
    "page_views": "Page views",
    "bounce_rate": "Bounce rate",
    "median_visit_duration": "Median visit duration",
}


async def content_of(
    ask: Ask, report: Report, website: Website, saved: SavedRecords, period: Period
) -> Content:
    """The report about a period; ApiError.

    An exploration that cannot be read is a table with a problem. One query is run after the other:
    those of people come first.
    """
    schedule, zone = Schedule(report.schedule), website.timezone
    before = period_before(schedule, zone, period) if report.compare else None
    filters = list(report.filters)
    both = partial(_both, ask, period, before)
    tables = [await _breakdown(ask, one, filters, period, before) for one in BREAKDOWNS]
    tables.append(await _conversions(both, saved.of(Goal)[:MAX_GOALS], filters))
    tables += [
        await _exploration(ask, saved.by_id.get(record_id), filters, period)
        for record_id in _exploration_ids(report, saved)
    ]
    return Content(
        name=report.name,
        website=website.name or website.domain,
        zone=zone,
        schedule=schedule,
        period=period,
        before=before,
        figures=await _figures(both, filters),
        points=await _points(both, schedule, filters, before),
        tables=tuple(table for table in tables if table is not None),
        is_filtered=bool(filters),
    )


def _exploration_ids(report: Report, saved: SavedRecords) -> Sequence[str]:
    """Those of the report, then those of its board; the first ten."""
    board = saved.by_id.get(report.board or "")
    tiles = board.tiles if isinstance(board, Board) else ()
    of_board = [tile["exploration"] for tile in tiles if "exploration" in tile]
    return list(dict.fromkeys((*report.explorations, *of_board)))[:MAX_TABLES]


async def _figures(both: Both, filters: Filters) -> tuple[Figure, ...]:
    [row], [earlier] = await both({"metrics": HEADLINES, "filters": filters})
    return tuple(
        Figure(
            LABELS[name],
            row.get(name),
            earlier.get(name),
            BY_NAME[name].unit,
            less_is_better=name == "bounce_rate",
        )
        for name in HEADLINES
    )


async def _points(
    both: Both, schedule: Schedule, filters: Filters, before: Period | None
) -> tuple[Point, ...]:
    """Days of the period, or hours of a day; those of the period before by their order."""
    time = "time:hour" if schedule is Schedule.DAILY else "time:day"
    query = {"metrics": ["visitors"], "dimensions": [time], "filters": filters}
    rows, earlier_rows = await both(query)
    pairs = zip_longest(rows, earlier_rows if before else (), fillvalue=None)
    return tuple(
        Point(str(row[time]), row["visitors"], earlier["visitors"] if earlier else None)
        for row, earlier in pairs
        if row is not None
    )


async def _breakdown(
    ask: Ask, breakdown: Breakdown, filters: Filters, period: Period, before: Period | None
) -> Table | None:
    """The table; None without rows."""
    field, first = breakdown.dimension, breakdown.metrics[0]
    present = [] if breakdown.nothing else [{"field": field, "operator": "is_not_null"}]
    query = {
        "metrics": breakdown.metrics,
        "dimensions": [field],
        "filters": filters + present,
        "having": [{"field": first, "operator": "gt", "value": 0}],
        "limit": breakdown.limit,
    }
    [rows] = await ask(METRICS, query, [period])
    names = [row[field] for row in rows if row[field] is not None]
    previous: Mapping[Any, Any] = {}
    if before and names:
        same = {"field": field, "operator": "in", "value": names}
        query = {**query, "filters": [*filters, same], "limit": len(names), "having": []}
        [earlier_rows] = await ask(METRICS, query, [before])
        of_name = {earlier[field]: earlier[first] for earlier in earlier_rows}
        previous = dict.fromkeys(names, 0) | of_name
    if not rows:
        return None
    return Table(
        breakdown.title,
        (breakdown.heading, *(LABELS[name] for name in breakdown.metrics)),
        tuple(
            Row(
                breakdown.nothing if row[field] is None else breakdown.named(row[field]),
                tuple(row[name] for name in breakdown.metrics),
                previous.get(row[field]),
            )
            for row in rows
        ),
        tuple(BY_NAME[name].unit for name in breakdown.metrics),
    )


async def _conversions(both: Both, goals: Sequence[Goal], filters: Filters) -> Table | None:
    """A row for each goal; None without goals."""
    if not goals:
        return None
    metrics = [
        {"metric": metric, "goal": goal.id, "as": f"{metric}_{i}"}
        for i, goal in enumerate(goals)
        for metric in ("conversions", "conversion_rate")
    ]
    [row], [earlier] = await both({"metrics": metrics, "filters": filters})
    return Table(
        "Goals",
        ("Goal", "Conversions", "Rate"),
        tuple(
            Row(
                goal.name,
                (row[f"conversions_{i}"], row[f"conversion_rate_{i}"]),
                earlier.get(f"conversions_{i}"),
            )
            for i, goal in enumerate(goals)
        ),
        (Unit.COUNT, Unit.PERCENT),
    )


async def _exploration(ask: Ask, record: object, filters: Filters, period: Period) -> Table:
    """At most ten rows of a saved exploration.

    Filters of the report apply to its metrics query; the fields of a custom query may differ.
    """
    if not isinstance(record, Exploration):
        return Table("Exploration", (), problem=DELETED)
    language, query = CUSTOM, record.custom_query or {}
    if record.metrics_query is not None:
        own_filters = record.metrics_query.get("filters") or []
        language, query = METRICS, {**record.metrics_query, "filters": [*own_filters, *filters]}
    try:
        [rows] = await ask(language, query, [period])
    except ApiError as error:
        return Table(record.name, (), problem=str(error))
    columns = tuple(rows[0])[:MAX_COLUMNS] if rows else ()
    return Table(
        record.name,
        tuple(map(_heading, columns)),
        tuple(
            Row(_name(row[columns[0]]), tuple(row[column] for column in columns[1:]))
            for row in rows[:MAX_ROWS]
        ),
        units=tuple(map(_unit, columns[1:])) if language == METRICS else (),
        problem="" if rows else "There are no rows in this period.",
    )


def _heading(column: str) -> str:
    """As `Entry page` for `visit.entry_page`."""
    words = re.split(r"[.:]", column)[-1].replace("_", " ")
    return words[:1].upper() + words[1:]


def _unit(column: str) -> Unit:
    """Of a column of a metrics query."""
    return BY_NAME[column].unit if column in BY_NAME else Unit.NUMBER


async def _both(
    ask: Ask, period: Period, before: Period | None, query: Mapping[str, Any]
) -> tuple[Rows, Rows]:
    rows, *earlier_rows = await ask(METRICS, query, [period, before] if before else [period])
    return rows, earlier_rows[0] if earlier_rows else [{}]


def _name(value: object) -> str:
    return "–" if value is None else str(value)


@cache
def _countries() -> Mapping[str, str]:
    """Names by code."""
    text = (files("tzdata") / "zoneinfo" / "iso3166.tab").read_text()
    lines = (line.split("\t", 1) for line in text.splitlines() if line and line[0] != "#")
    return {code: name for code, name in lines}  # noqa: C416 - lists are no pairs for mypy
