"""What a shared dashboard may ask: totals and groups of its website, by facts of rows and visits.

Its fixed filters are among those of every query (`QuerySubject.shared_filters`). What could look
past them, or at single visitors, is refused: query types that read rows without filters or list
visitors, what visitors did, ids as filters, bots.
"""

from collections.abc import Sequence

from query.request.filter_struct import Filter, with_parts
from query.request.query import Query
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import QUERY_TYPES
from query.standard.sql.steps import Step
from schemas.errors import Forbidden

SHARED_TYPES = frozenset(
    (
        *("summary_metrics", "summary", "events_by_date", "session_metrics"),
        *("session_duration_distribution", "sessions_by_device", "sessions_by_browser"),
        *("sessions_time_series", "session_flow", "session_pages"),
        *("top_pages", "pages", "entry_pages", "exit_pages", "page_performance"),
        *("top_folders", "top_path_groups"),
        *("page_time_analysis", "traffic_sources", "traffic", "top_referrers", "channels"),
        *("utm_sources", "utm_mediums", "utm_campaigns", "utm_terms", "utm_content"),
        *("browser_name", "browsers", "browser_versions", "browsers_grouped", "os_name"),
        *("operating_systems", "os_versions", "device_types", "country", "region", "city"),
        *("language", "timezone", "screen_resolution", "screen_resolutions"),
        *("viewport_vs_resolution", "viewport_patterns"),
        *("outbound_links", "outbound_domains", "custom_events", "custom_events_summary"),
        *("custom_events_by_path", "custom_events_trends", "custom_events_trends_by_event"),
        *("vitals_overview", "vitals_time_series", "vitals_by_page", "web_vitals_by_page"),
        *("web_vitals_by_browser", "web_vitals_by_country", "web_vitals_by_device"),
        *("web_vitals_by_os", "web_vitals_by_region", "web_vitals_time_series"),
        *("error_summary", "error_chart_data", "error_trends", "errors_by_page"),
        *("scroll_depth_summary", "scroll_depth_distribution", "page_scroll_performance"),
        *("today_metrics", "active_stats", "realtime_pages", "realtime_referrers"),
        *("realtime_countries", "realtime_cities", "realtime_velocity", "active_visitors"),
        *("stickiness", "visit_frequency", "lifecycle", "retention", "funnel", "funnel_trend"),
        *("goals", "paths"),
        *("errors_by_type", "error_frequency", "slow_pages", "performance_by_browser"),
        *("performance_by_country", "performance_by_os", "performance_by_region"),
        *("performance_time_series", "load_time_performance", "performance_overview"),
        *("vitals_by_country", "vitals_by_browser", "vitals_by_region", "vitals_by_city"),
        *("interaction_summary", "frustration_by_page", "form_abandonment_by_page"),
        "engagement_quality_by_page",
    )
)
"""Query types by name and alias; another one is refused until it is listed."""

SHARED_FIELDS = frozenset(
    (
        *("path", "folder", "path_group", "host", "title"),
        *("name", "href", "outbound_domain", "link_text"),
        *("browser_name", "browser_version", "os_name", "os_version", "device_type"),
        *("country", "region", "city", "language", "timezone", "screen_resolution"),
        *("viewport_size", "referrer", "referrer_name", "referrer_type", "channel"),
        *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    )
)
"""Fields of filters; of the visit and of the row as well."""

TYPES_WITH_OPTIONS = frozenset(
    ("funnel", "funnel_trend", "goals", "lifecycle", "paths", "retention", "stickiness")
)
OPTIONS_OF_STEPS = ("steps", "exclusions", "goals", "start", "returning")
"""What the options of these types hold: a breakdown, steps or goals, and texts and numbers."""

PREFIXES = ("visit.", "event.")
VISIT_FIELDS = frozenset(("visit.entry_page", "visit.exit_page", "visit.landing_host"))


def check_shared_body(filters: Sequence[Filter], include_bots: bool) -> None:
    """Forbidden when the body asks for more than a shared dashboard shows."""
    if include_bots:
        raise Forbidden("'include_bots' is not available on a shared dashboard")
    check_shared_filters(filters)


def check_shared_options(query_type: QueryType, options: object) -> None:
    """Forbidden when options of a type name more than a shared dashboard shows."""
    check_shared_field(getattr(options, "breakdown", None))
    for steps in (getattr(options, name, None) for name in OPTIONS_OF_STEPS):
        check_shared_steps([steps] if isinstance(steps, Step) else steps or ())
    if query_type.options and query_type.name not in TYPES_WITH_OPTIONS:
        raise Forbidden(f"Query type '{query_type.name}' is not available on a shared dashboard")


def check_shared_steps(steps: Sequence[Step]) -> None:
    """Forbidden when a step or goal names more than a shared dashboard shows."""
    for step in steps:
        check_shared_filters(step.filters)
        if getattr(step, "value", None) is not None:
            raise Forbidden("Values of goals are not available on a shared dashboard")


def check_shared_field(field: str | None) -> None:
    """Forbidden for a field that a shared dashboard does not show."""
    if field is not None and not _is_shared_field(field):
        raise Forbidden(f"The field '{field[:60]}' is not available on a shared dashboard")


def check_shared_query(query: Query) -> None:
    """Forbidden when one query asks for more than a shared dashboard shows."""
    if query.name in QUERY_TYPES and query.name not in SHARED_TYPES:
        raise Forbidden(f"Query type '{query.name}' is not available on a shared dashboard")
    check_shared_filters(query.own_filters)


def check_shared_filters(filters: Sequence[Filter]) -> None:
    """Forbidden when filters name more than a shared dashboard shows."""
    for part in (part for each in filters for part in with_parts(each)):
        if part.behaviors or part.segment is not None:
            raise Forbidden("Filters of a shared dashboard are conditions on fields")
        check_shared_field(part.field)


def _is_shared_field(field: str) -> bool:
    plain = next((field.removeprefix(p) for p in PREFIXES if field.startswith(p)), field)
    return plain in SHARED_FIELDS or field in VISIT_FIELDS
