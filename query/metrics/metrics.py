"""METRICS: what metrics queries compute, one declaration each.

A metric is a formula over parts; a part is an aggregate over one source. SQL computes the value
that is shown, ratios by integer arithmetic, rounded half up to two decimals: order, `having` and
pages agree with it, on every engine.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from query.sql.row_definitions import PAGE_EXIT, PAGE_VIEW
from query.standard.sql.definitions import IS_BOUNCE, MEDIAN_HIGH, MEDIAN_LOW


class Source(StrEnum):
    """What a part is computed from; the value names the CTE."""

    ROWS = "of_rows"
    """The rows that meet the filters."""
    VISITS = "of_visits"
    """The visits with such a row, whole; under each value that one of these rows has."""
    RANKED_VISITS = "of_ranked_visits"
    """The same, ranked by duration."""
    ENTRIES = "of_entries"
    """The first page view of each visit."""
    EXITS = "of_exits"
    """The last page view of each visit."""
    VISIT_VIEWS = "of_visit_views"
    """All page views of the visits."""


class Unit(StrEnum):
    """The unit of a value; all but counts may have decimals, or be null."""

    COUNT = "count"
    NUMBER = "number"
    PERCENT = "percent"
    SECONDS = "seconds"


class Part(Struct, frozen=True):
    """An aggregate over the rows of a source."""

    name: str
    source: Source
    sql: str
    values: Mapping[str, object] = {}
    """Bound values."""


class Metric(Struct, frozen=True):
    """One metric: its unit, its meaning, its formula over the names of its parts."""

    name: str
    unit: Unit
    description: str
    sql: str
    parts: tuple[Part, ...]

    @property
    def subject(self) -> str:
        """What it is a number of, for the rule of filters: rows or visits."""
        return "rows" if all(part.source is Source.ROWS for part in self.parts) else "visits"


def _count(part: Part, description: str) -> Metric:
    return Metric(part.name, Unit.COUNT, description, f"COALESCE({part.name}, 0)", (part,))


def ratio(numerator: str, denominator: str) -> str:
    """The ratio of two integers that are not negative, rounded half up to two decimals.

    NULL when there is nothing to divide, or nothing to divide by.
    """
    above, below = f"CAST({numerator} AS INT128)", f"CAST({denominator} AS INT128)"
    hundredths = f"INT_DIV({above} * 200 + {below}, 2 * {below})"
    return f"CASE WHEN {denominator} > 0 THEN CAST({hundredths} AS DECIMAL(24, 0)) * 0.01 END"


def _percent(name: str, part: Part, whole: Part, description: str) -> Metric:
    sql = ratio(f"COALESCE({part.name}, 0) * 100", whole.name)
    return Metric(name, Unit.PERCENT, description, sql, (part, whole))


def _mean(name: str, column: str, unit: Unit, description: str) -> Metric:
    """The mean of a column with four decimals, over page views and page exits that have it."""
    only = f"{PAGE_VIEW} OR name = '{PAGE_EXIT}'"
    units = f"CAST({column} * 10000 AS BIGINT)"
    total = Part(f"{name}_units", Source.ROWS, f"SUM(CASE WHEN {only} THEN {units} END)")
    count = Part(f"{name}_count", Source.ROWS, f"COUNT(CASE WHEN {only} THEN {column} END)")
    sql = ratio(total.name, f"{count.name} * 10000")
    return Metric(name, unit, description, sql, (total, count))


VISITORS = Part("visitors", Source.ROWS, "COUNT(DISTINCT visitor_hash)")
PAGE_VIEWS = Part("page_views", Source.ROWS, f"COUNT(*) FILTER (WHERE {PAGE_VIEW})")
EVENTS = Part("events", Source.ROWS, "COUNT(*)")
VISITS = Part("visits", Source.VISITS, "COUNT(*)")
BOUNCES = Part("bounces", Source.VISITS, f"SUM({IS_BOUNCE})")
VIEWS_OF_VISITS = Part("views_of_visits", Source.VISITS, "SUM(page_views)")
DURATION = Part("total_duration_ms", Source.VISITS, "SUM(duration_ms)")
LOW_DURATION = Part("low_ms", Source.RANKED_VISITS, MEDIAN_LOW)
HIGH_DURATION = Part("high_ms", Source.RANKED_VISITS, MEDIAN_HIGH)
ENTRIES = Part("entries", Source.ENTRIES, "COUNT(*)")
EXITS = Part("exits", Source.EXITS, "COUNT(*)")
VISIT_VIEWS = Part("visit_views_seen", Source.VISIT_VIEWS, "COUNT(*)")

METRICS = (
    _count(VISITORS, "distinct visitors of the rows"),
    _count(PAGE_VIEWS, "page views"),
    _count(EVENTS, "all rows: page views, custom events, page exits, outbound clicks"),
    _mean("time_on_page", "time_on_page", Unit.SECONDS, "mean visible seconds that pages reported"),
    _mean("scroll_depth", "scroll_depth", Unit.PERCENT, "mean share of the page seen, where told"),
    _count(VISITS, "visits: sessions with at least one page view"),
    _percent("bounce_rate", BOUNCES, VISITS, "visits of one page view, no other event, under 10 s"),
    Metric(
        "visit_duration",
        Unit.SECONDS,
        "mean duration of visits",
        ratio("total_duration_ms", "visits * 1000"),
        (DURATION, VISITS),
    ),
    Metric(
        "median_visit_duration",
        Unit.SECONDS,
        "median duration of visits",
        ratio("low_ms + high_ms", "2000"),
        (LOW_DURATION, HIGH_DURATION),
    ),
    Metric(
        "views_per_visit",
        Unit.NUMBER,
        "mean page views of a visit",
        ratio("views_of_visits", "visits"),
        (VIEWS_OF_VISITS, VISITS),
    ),
    _count(ENTRIES, "visits whose first page view has the values of the dimensions"),
    _count(EXITS, "visits whose last page view has the values of the dimensions"),
    _percent("exit_rate", EXITS, VISIT_VIEWS, "share of page views that ended their visit"),
)

BY_NAME = {metric.name: metric for metric in METRICS}
