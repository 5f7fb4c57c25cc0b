"""METRICS: what metrics queries compute, one declaration each."""

from query.metrics.ledger import LEDGER_METRICS
from query.metrics.metric import Metric, Part, Source, Unit, count, percent, ratio
from query.metrics.vitals import VITAL_METRICS
from query.scope.visitor_facts import IS_NEW
from query.sql.row_definitions import IS_OUTBOUND, PAGE_VIEW
from query.standard.sql.definitions import IS_BOUNCE, MEDIAN_HIGH, MEDIAN_LOW


def _mean(name: str, column: str, unit: Unit, description: str) -> Metric:
    """The mean with four decimals of what was reported of page views."""
    total = Part(f"{name}_units", Source.PAGE_VIEWS, f"SUM(CAST({column} * 10000 AS BIGINT))")
    count = Part(f"{name}_count", Source.PAGE_VIEWS, f"COUNT({column})")
    sql = ratio(total.name, f"{count.name} * 10000")
    return Metric(name, unit, description, sql, (total, count))


VISITORS = Part("visitors", Source.ROWS, "COUNT(DISTINCT visitor_hash)")
NEW_VISITORS = Part(
    "new_visitors",
    Source.ROWS,
    f"COUNT(DISTINCT CASE WHEN {IS_NEW.column} THEN visitor_hash END)",
)
RETURNING_VISITORS = Part(
    "returning_visitors",
    Source.ROWS,
    f"COUNT(DISTINCT CASE WHEN NOT {IS_NEW.column} THEN visitor_hash END)",
)
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

OUTBOUND = Part("outbound_clicks", Source.ROWS, f"COUNT(*) FILTER (WHERE {IS_OUTBOUND})")
ERRORS = Part("errors", Source.ERRORS, "COUNT(*)")
AFFECTED = Part("affected_visitors", Source.ERRORS, "COUNT(DISTINCT visitor_hash)")
SESSIONS_SEEN = Part("sessions_seen", Source.SESSIONS_SEEN, "COUNT(DISTINCT session_hash)")
SESSIONS_WITH_ERROR = Part(
    "sessions_with_error",
    Source.SESSIONS_SEEN,
    "COUNT(DISTINCT CASE WHEN has_error = 1 THEN session_hash END)",
)

METRICS = (
    count(
        VISITORS,
        "unique visitors: each counts once in the time range; one without an `anonymousId` of the "
        "sender is new each day",
    ),
    count(
        NEW_VISITORS,
        "those of them whose first event ever is in the time range; by minute to month, in that "
        "bucket",
    ),
    count(
        RETURNING_VISITORS,
        "those of them who have an event before the time range; by minute to month, before that "
        "bucket",
    ),
    count(PAGE_VIEWS, "page views: each time that a page was opened"),
    count(EVENTS, "all rows: page views, custom events, page exits, outbound clicks"),
    _mean(
        "time_on_page",
        "seconds",
        Unit.SECONDS,
        "mean visible seconds of page views that reported some, all reports of each added up",
    ),
    _mean(
        "scroll_depth",
        "depth",
        Unit.PERCENT,
        "mean share of the page seen, of page views that reported one: the greatest of each",
    ),
    count(
        VISITS,
        "visits: sessions with at least one page view; without a `sessionId` of the sender, one "
        "ends after 30 minutes without events",
    ),
    percent(
        "bounce_rate",
        BOUNCES,
        VISITS,
        "share of visits that bounced: one page view, no interaction, under 10 seconds",
    ),
    Metric(
        "visit_duration",
        Unit.SECONDS,
        "mean duration of visits, from the first to the last event or, if more, the visible "
        "seconds that pages reported",
        ratio("total_duration_ms", "visits * 1000"),
        (DURATION, VISITS),
    ),
    Metric(
        "median_visit_duration",
        Unit.SECONDS,
        "median duration of visits, from the first to the last event or, if more, the visible "
        "seconds that pages reported",
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
    count(
        ENTRIES, "visits whose first page view in the time range has the values of the dimensions"
    ),
    count(EXITS, "visits whose last page view in the time range has the values of the dimensions"),
    percent("exit_rate", EXITS, VISIT_VIEWS, "share of page views that ended their visit"),
    count(OUTBOUND, "clicks on links to other sites"),
    count(ERRORS, "error reports"),
    count(AFFECTED, "distinct visitors with an error report"),
    percent(
        "error_rate",
        SESSIONS_WITH_ERROR,
        SESSIONS_SEEN,
        "sessions with an error report, of all sessions with a page view or one, also those from "
        "before errors were recorded",
    ),
    Metric(
        "errors_per_view",
        Unit.NUMBER,
        "error reports for each page view",
        ratio("COALESCE(errors, 0)", "page_views", 4),
        (ERRORS, PAGE_VIEWS),
    ),
    *VITAL_METRICS,
    *LEDGER_METRICS,
)

BY_NAME = {metric.name: metric for metric in METRICS}
