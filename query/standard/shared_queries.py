"""What a shared dashboard may ask: totals and groups of its website, by facts of rows and visits.

Its fixed filters are among those of every query (`QuerySubject.shared_filters`). What could look
past them, or at single visitors, is refused: query types that read rows without filters or list
visitors, what visitors did, ids as filters, bots.
"""

from collections.abc import Sequence

from query.request.filter_struct import Filter, with_parts
from query.request.query import Query
from query.standard.query_types import QUERY_TYPES
from schemas.errors import Forbidden

SHARED_TYPES = frozenset(
    (
        *("summary_metrics", "summary", "events_by_date", "session_metrics"),
        *("session_duration_distribution", "sessions_by_device", "sessions_by_browser"),
        *("sessions_time_series", "session_flow", "session_pages"),
        *("top_pages", "pages", "entry_pages", "exit_pages", "page_performance"),
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
    )
)
"""Query types by name and alias; another one is refused until it is listed."""

SHARED_FIELDS = frozenset(
    (
        *("path", "host", "title", "name", "href", "outbound_domain", "link_text"),
        *("browser_name", "browser_version", "os_name", "os_version", "device_type"),
        *("country", "region", "city", "language", "timezone", "screen_resolution"),
        *("viewport_size", "referrer", "referrer_name", "referrer_type", "channel"),
        *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    )
)
"""Fields of filters; of the visit and of the row as well."""

PREFIXES = ("visit.", "event.")
VISIT_FIELDS = frozenset(("visit.entry_page", "visit.exit_page", "visit.landing_host"))


def check_shared_body(filters: Sequence[Filter], include_bots: bool) -> None:
    """Forbidden when the body asks for more than a shared dashboard shows."""
    if include_bots:
        raise Forbidden("'include_bots' is not available on a shared dashboard")
    _check_filters(filters)


def check_shared_query(query: Query) -> None:
    """Forbidden when one query asks for more than a shared dashboard shows."""
    if query.name in QUERY_TYPES and query.name not in SHARED_TYPES:
        raise Forbidden(f"Query type '{query.name}' is not available on a shared dashboard")
    _check_filters(query.own_filters)


def _check_filters(filters: Sequence[Filter]) -> None:
    for part in (part for each in filters for part in with_parts(each)):
        if part.behaviors or part.segment is not None:
            raise Forbidden("Filters of a shared dashboard are conditions on fields")
        if part.field is not None and not _is_shared_field(part.field):
            raise Forbidden(f"The field '{part.field[:60]}' is not available on a shared dashboard")


def _is_shared_field(field: str) -> bool:
    plain = next((field.removeprefix(p) for p in PREFIXES if field.startswith(p)), field)
    return plain in SHARED_FIELDS or field in VISIT_FIELDS
