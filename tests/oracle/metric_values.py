"""Values of each metric for a group, computed from its rows, visits, errors and vitals."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec import Struct

from tests.oracle.aggregates import average, distinct, is_view, median, quantile, rounded, there
from tests.oracle.sessions import Session
from tests.oracle.stored_rows import Row


class Group:
    """Everything of one combination of values."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.page_views: list[Row] = []
        """Page views with their engagement."""
        self.visits: list[Session] = []
        self.entries = 0
        self.exits = 0
        self.views_of_visits = 0
        self.errors: list[Row] = []
        self.vitals: list[Row] = []

    @property
    def views(self) -> list[Row]:
        """The page views."""
        return [row for row in self.rows if is_view(row)]


class Metric(Struct, frozen=True):
    """The value of a metric, and whether a group has anything that it is about."""

    value: Callable[[Group], Any]
    has: Callable[[Group], Any]


def _of(part: Fraction | int, whole: int, times: int = 1) -> float | None:
    return rounded(Fraction(part) * times / whole) if whole else None


def _mean_of(column: str) -> Metric:
    """The mean over page views that report it."""
    return Metric(
        lambda group: average(there(group.page_views, column)), lambda group: group.page_views
    )


def _median_duration(group: Group) -> float | None:
    lasted = [Fraction(visit.milliseconds, 1000) for visit in group.visits]
    return rounded(median(lasted)) if lasted else None


def _seen(group: Group) -> set[str | None]:
    """Sessions with a page view or an error."""
    return {row["session_id"] for row in [*group.views, *group.errors]} - {None}


def _samples(group: Group, vital: str) -> list[Any]:
    return [row["metric_value"] for row in group.vitals if row["metric_name"] == vital]


def _visitors_who(group: Group, is_new: bool) -> int:
    return distinct([row for row in group.rows if row["is_new_here"] is is_new], "person")


def _of_rows(value: Callable[[Group], Any]) -> Metric:
    return Metric(value, lambda group: group.rows)


def _of_visits(value: Callable[[Group], Any]) -> Metric:
    return Metric(value, lambda group: group.visits)


BOUNDS = {
    "LCP": ("2500", "4000"),
    "INP": ("200", "500"),
    "CLS": ("0.1", "0.25"),
    "FCP": ("1800", "3000"),
    "TTFB": ("800", "1800"),
}
"""Up to the first a value is good, above the second it is poor."""


def _vital_metrics(vital: str) -> Mapping[str, Metric]:
    good, poor = (Fraction(bound) for bound in BOUNDS[vital])

    def of_samples(value: Callable[[list[Any]], Any]) -> Metric:
        return Metric(
            lambda group: value(_samples(group, vital)), lambda group: _samples(group, vital)
        )

    def share(fits: Callable[[Any], bool]) -> Metric:
        return of_samples(lambda found: _of(sum(map(fits, found)), len(found), 100))

    return {
        **{f"p{n}": of_samples(partial(quantile, percents=n, digits=4)) for n in (50, 75, 90, 95)},
        "good": share(lambda value: value <= good),
        "needs_improvement": share(lambda value: good < value <= poor),
        "poor": share(lambda value: value > poor),
        "samples": of_samples(len),
    }


METRICS: Mapping[str, Metric] = {
    "visitors": _of_rows(lambda group: distinct(group.rows, "person")),
    "new_visitors": _of_rows(partial(_visitors_who, is_new=True)),
    "returning_visitors": _of_rows(partial(_visitors_who, is_new=False)),
    "page_views": _of_rows(lambda group: len(group.views)),
    "events": _of_rows(lambda group: len(group.rows)),
    "time_on_page": _mean_of("seconds"),
    "scroll_depth": _mean_of("depth"),
    "outbound_clicks": _of_rows(lambda group: len(there(group.rows, "outbound_domain"))),
    "visits": _of_visits(lambda group: len(group.visits)),
    "bounce_rate": _of_visits(
        lambda group: _of(sum(visit.bounced for visit in group.visits), len(group.visits), 100)
    ),
    "visit_duration": _of_visits(
        lambda group: _of(
            Fraction(sum(visit.milliseconds for visit in group.visits), 1000), len(group.visits)
        )
    ),
    "median_visit_duration": _of_visits(_median_duration),
    "views_per_visit": _of_visits(
        lambda group: _of(sum(len(visit.views) for visit in group.visits), len(group.visits))
    ),
    "entries": Metric(lambda group: group.entries, lambda group: group.entries),
    "exits": Metric(lambda group: group.exits, lambda group: group.exits),
    "exit_rate": Metric(
        lambda group: _of(group.exits, group.views_of_visits, 100),
        lambda group: group.views_of_visits,
    ),
    "errors": Metric(lambda group: len(group.errors), lambda group: group.errors),
    "affected_visitors": Metric(
        lambda group: distinct(group.errors, "person"), lambda group: group.errors
    ),
    "error_rate": Metric(
        lambda group: _of(distinct(group.errors, "session_id"), len(_seen(group)), 100), _seen
    ),
    "errors_per_view": Metric(
        lambda group: (
            rounded(Fraction(len(group.errors), len(group.views)), 4) if group.views else None
        ),
        lambda group: group.errors or group.rows,
    ),
    **{
        f"{figure}_{vital.lower()}": metric
        for vital in BOUNDS
        for figure, metric in _vital_metrics(vital).items()
    },
}
