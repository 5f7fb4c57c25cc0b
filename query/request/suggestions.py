"""Error text for an unknown name, with a suggestion."""

from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches

MAX_SHOWN = 60
MAX_LISTED = 20

COLUMN_WORDS: Mapping[str, tuple[str, ...]] = {
    "browser": ("browser_name",),
    "campaign": ("utm_campaign",),
    "client_id": ("anonymous_id",),
    "device": ("device_type",),
    "domain": ("outbound_domain",),
    "event": ("name",),
    "event_name": ("name",),
    "hostname": ("host",),
    "medium": ("utm_medium",),
    "os": ("os_name",),
    "page": ("path",),
    "page_path": ("path",),
    "pathname": ("path",),
    "referer": ("referrer",),
    "source": ("utm_source", "referrer_name"),
    "url": ("path",),
    "user_id": ("anonymous_id", "profile_id"),
    "visit.path": ("path", "visit.entry_page"),
    "visit_id": ("session_id",),
    "visitor_id": ("anonymous_id",),
}
"""Words of other products: the columns that hold it here."""

METRIC_WORDS: Mapping[str, str] = {
    "conversion": "conversions",
    "duration": "visit_duration",
    "pageviews": "page_views",
    "people": "visitors",
    "sessions": "visits",
    "unique_visitors": "visitors",
    "users": "visitors",
    "views": "page_views",
}
"""Words of other products: the metric that counts it here."""

DIMENSION_WORDS: Mapping[str, tuple[str, ...]] = {
    "date": ("time:day",),
    "entry_page": ("visit.entry_page",),
    "exit_page": ("visit.exit_page",),
    "hour": ("time:hour", "time:hour_of_day"),
    "landing_page": ("visit.entry_page",),
    "new_vs_returning": ("visitor.is_new",),
    "returning": ("visitor.is_new",),
    "weekday": ("time:day_of_week",),
}
"""Words of other products: the dimensions of metrics that hold it here."""

COUNTED_WORDS: Mapping[str, str] = {
    "people": "anonymous_id",
    "sessions": "session_id",
    "unique_users": "anonymous_id",
    "unique_visitors": "anonymous_id",
    "users": "anonymous_id",
    "visitors": "anonymous_id",
    "visits": "session_id",
}
"""Numbers: the column whose distinct values they count."""

TIME_WORDS: Mapping[str, str] = {
    "date": "daily",
    "day": "daily",
    "hour": "hourly",
    "minute": "minute",
    "month": "monthly",
    "time": "daily",
    "timestamp": "daily",
    "week": "weekly",
    "weekday": "day_of_week",
}
"""Words for time: the bucket that a custom query groups by."""

AGGREGATE_WORDS: Mapping[str, str] = {
    "average": "avg",
    "count_distinct": "uniq",
    "distinct": "uniq",
    "mean": "avg",
    "unique": "uniq",
}
"""Words of other products and SQL: the aggregate."""

OPERATOR_WORDS: Mapping[str, str] = {
    "!=": "ne",
    "<": "lt",
    "<=": "lte",
    "=": "eq",
    "==": "eq",
    ">": "gt",
    ">=": "gte",
    "is": "eq",
    "is_not": "ne",
    "like": "contains",
}
"""The same for operators."""


QUERY_TYPE_WORDS: Mapping[str, str] = {
    "bounce_rate": "summary",
    "countries": "country",
    "devices": "device_types",
    "languages": "language",
    "pageviews": "events_by_date",
    "referrers": "top_referrers",
    "regions": "region",
    "sources": "traffic_sources",
    "stats": "summary",
    "time_series": "events_by_date",
    "timeseries": "events_by_date",
    "top_countries": "country",
    "top_devices": "device_types",
    "top_sources": "traffic_sources",
    "totals": "summary",
}
"""Words of other products: the query type that answers it here."""

COMPARISON_WORDS: Mapping[str, str] = {
    "last_period": "previous_period",
    "last_year": "previous_year",
    "period": "previous_period",
    "previous": "previous_period",
    "year": "previous_year",
    "year_over_year": "previous_year",
}
"""The same for what a time range is compared with."""


def unknown_name_message(
    what: str,
    name: str,
    known: Iterable[str],
    where: str = "",
    likeness: float = 0.6,
    advice: str = "",
    words: Mapping[str, str] = {},
) -> str:
    """`Unknown column 'contry' in table 'events'; did you mean 'country'?`

    A name is suggested that `words` have for it, or when its likeness is at least that; else all
    are listed, if they are few; else there is the advice.
    """
    names = list(known)
    if name in names:
        return f"The {what} '{shorten(name)}' cannot be used here{where}"
    sentence = f"Unknown {what} '{shorten(name)}'{where}"
    close = get_close_matches(name[:100].lower(), names, n=1, cutoff=likeness)
    if (word := words.get(name[:100].lower())) in names:
        close = [str(word)]
    if close:
        return f"{sentence}; did you mean '{close[0]}'?"
    if not names:
        return f"{sentence}; there are none, leave it out"
    if len(names) <= MAX_LISTED:
        return f"{sentence}; known are {', '.join(names)}"
    return f"{sentence}; {advice}" if advice else sentence


def unknown_column_message(name: str, known: Iterable[str], where: str) -> str:
    """The error for an unknown column; other products' words for one are understood."""
    columns = list(known)
    advice = _column_advice(name[:100].lower(), columns)
    if advice is None:
        return unknown_name_message("column", name, columns, where)
    return f"Unknown column '{shorten(name)}'{where}; {advice}"


def shorten(name: str) -> str:
    """The name as errors show it."""
    return name if len(name) <= MAX_SHOWN else name[:MAX_SHOWN] + "…"


def _column_advice(word: str, columns: Container[str]) -> str | None:
    meant = [f"'{column}'" for column in COLUMN_WORDS.get(word, ()) if column in columns]
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    counted = COUNTED_WORDS.get(word)
    if counted is not None and counted in columns:
        return f"they are counted by {{'field': '{counted}', 'aggregate': 'uniq'}}"
    if word in TIME_WORDS:
        return (
            f"in 'groupBy' of a custom query, use 'time:{TIME_WORDS[word]}'; a time range is given "
            "by 'startDate' and 'endDate'"
        )
    return None
