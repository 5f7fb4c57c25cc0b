"""The questions, as SQL that a ClickHouse user would write, by the name of our query type.

Columns are named as the fields of our answer; shares and medians are not rounded. Facts of a visit
come from one pass that groups by session, which is faster here than a join with the sessions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tests.bench.query_service import BenchmarkQuery, custom, standard
from tests.bench.traffic_sql import MINE

IS_VIEW = "name IN ('screen_view', 'pageview')"
IS_OTHER = "name NOT IN ('screen_view', 'pageview', 'page_exit')"
LIMIT = 100
CUSTOM_LIMIT = 10_000
ROWS_OF_CUSTOM_QUERIES = 1_000
SHARE = "100 * visitors / sum(visitors) OVER () AS percentage"
RANKED = f"GROUP BY label ORDER BY visitors DESC, pageviews DESC, label LIMIT {LIMIT}"
DURATION_MS = """greatest(
    toUnixTimestamp64Milli(max(ts)) - toUnixTimestamp64Milli(min(ts)),
    toInt64(sum(time_on_page) * 1000)
)"""
SESSION = f"""
    countIf({IS_VIEW})  AS views,
    countIf({IS_OTHER}) AS others,
    {DURATION_MS}       AS duration_ms
"""
SESSION_TOTALS = """
    count() AS sessions,
    100 * countIf(views = 1 AND others = 0 AND duration_ms < 10000) / count() AS bounce_rate,
    quantileExactInclusive(0.5)(duration_ms) / 1000 AS median_session_duration
"""


CHANNEL, COUNTRY, PAGE_PATH = "Direct", "DE", "/"


class Subset(Struct, frozen=True):
    """The rows that a filter keeps."""

    name: str
    filters: Sequence[Mapping[str, Any]]


def equal(name: str, field: str, value: str) -> Subset:
    """The rows of one value."""
    return Subset(name, [{"field": field, "operator": "eq", "value": value}])


ALL = Subset("", ())
ONE_CHANNEL = equal("one channel", "channel", CHANNEL)
ONE_COUNTRY = equal("one country", "country", COUNTRY)
ONE_PATH = equal("one path", "path", PAGE_PATH)

BY_COUNTRY = {
    "table": "events",
    "selects": [
        {"field": "*", "aggregate": "count", "alias": "events"},
        {"field": "anonymous_id", "aggregate": "uniq", "alias": "visitors"},
    ],
    "groupBy": ["country"],
    "orderBy": [{"field": "events", "direction": "desc"}, {"field": "country", "direction": "asc"}],
}
VIEWS_BY_PATH_AND_DEVICE = {
    "table": "events",
    "selects": [{"field": "*", "aggregate": "count", "alias": "events"}],
    "filters": [{"field": "name", "operator": "eq", "value": "screen_view"}],
    "groupBy": ["path", "device_type"],
    "orderBy": [
        {"field": "events", "direction": "desc"},
        {"field": "path", "direction": "asc"},
        {"field": "device_type", "direction": "asc"},
    ],
}


class Question(Struct, frozen=True):
    """A query type, with a filter or without, and the statement for ClickHouse."""

    query_type: str
    """Or what a custom query asks for."""
    sql: str
    subset: Subset = ALL
    custom: Mapping[str, Any] | None = None
    """The body of a custom query."""

    @property
    def name(self) -> str:
        """The query type, and what the filter keeps."""
        return ", ".join(filter(None, (self.query_type, self.subset.name)))

    def request(self, span: Mapping[str, str]) -> BenchmarkQuery:
        """The request to the query service."""
        if self.custom is not None:
            return custom(self.name, dict(self.custom), dict(span))
        own = {"filters": self.subset.filters} if self.subset.filters else {}
        return standard(self.query_type, "website_id", own, dict(span))


def questions(span: Mapping[str, str]) -> Sequence[Question]:
    """All questions; `span` has the first and the last day, UTC."""
    rows = f"""
        FROM events
       WHERE website_id = '{MINE}' AND NOT is_bot
         AND ts >= toDateTime64('{span["startDate"]}', 3, 'UTC')
         AND ts < toDateTime64('{span["endDate"]}', 3, 'UTC') + INTERVAL 1 DAY
    """
    of_channel = of_visits(rows, "channel", CHANNEL)
    of_country = f"{rows} AND country = '{COUNTRY}'"
    of_path = f"{rows} AND path = '{PAGE_PATH}'"
    return [
        Question("summary", summary(rows)),
        Question("events_by_date", by_day(rows)),
        Question("top_pages", by_column(rows, "path")),
        Question("traffic_sources", by_first_view(rows, "referrer_name")),
        Question("channels", by_first_view(rows, "channel")),
        Question("country", by_column(rows, "country")),
        Question("device_types", by_column(rows, "device_type")),
        Question("entry_pages", by_first_view(rows, "path", "count()")),
        Question("custom_events", custom_events(rows)),
        Question("summary", summary(of_channel), ONE_CHANNEL),
        Question("events_by_date", by_day(of_channel), ONE_CHANNEL),
        Question("top_pages", by_column(of_channel, "path"), ONE_CHANNEL),
        Question("country", by_column(of_channel, "country"), ONE_CHANNEL),
        Question("custom_events", custom_events(of_channel), ONE_CHANNEL),
        Question("top_pages", by_column(of_country, "path"), ONE_COUNTRY),
        Question("country", by_column(of_path, "country"), ONE_PATH),
        Question("custom: by country", counted(rows, "country", VISITORS), custom=BY_COUNTRY),
        Question(
            "custom: views by path and device",
            counted(f"{rows} AND name = 'screen_view'", "path, device_type"),
            custom=VIEWS_BY_PATH_AND_DEVICE,
        ),
    ]


def of_visits(rows: str, column: str, value: str) -> str:
    """The rows of visits whose first page view has a value."""
    return f"""
        {rows} AND session_hash IN (
            SELECT session_hash {rows} AND {IS_VIEW}
             GROUP BY session_hash HAVING argMin({column}, ts) = '{value}'
        )
    """


def summary(rows: str) -> str:
    """Totals of the time range."""
    return f"""
        SELECT pageviews, unique_visitors, sessions, bounce_rate, median_session_duration,
               total_events
          FROM (SELECT countIf({IS_VIEW}) AS pageviews,
                       uniqExact(visitor_hash) AS unique_visitors,
                       count() AS total_events
                  {rows}) AS all_rows,
               (SELECT {SESSION_TOTALS}
                  FROM (SELECT {SESSION} {rows} GROUP BY session_hash HAVING views > 0)) AS visits
    """


def by_day(rows: str) -> str:
    """Totals of each day; a session counts on the day of its first page view."""
    return f"""
        SELECT date, pageviews, visitors, sessions, bounce_rate, median_session_duration,
               pages_per_session
          FROM (SELECT toDate(ts) AS date,
                       countIf({IS_VIEW}) AS pageviews,
                       uniqExact(visitor_hash) AS visitors
                  {rows} GROUP BY date) AS days
          LEFT JOIN
               (SELECT date, {SESSION_TOTALS}, sum(views) / count() AS pages_per_session
                  FROM (SELECT minIf(toDate(ts), {IS_VIEW}) AS date, {SESSION}
                          {rows} GROUP BY session_hash HAVING views > 0)
                 GROUP BY date) AS visits
         USING date
         ORDER BY date
    """


def by_column(rows: str, column: str) -> str:
    """Page views and visitors by a column of the row."""
    return f"""
        SELECT {column} AS label, count() AS pageviews, uniqExact(visitor_hash) AS visitors,
               {SHARE}
          {rows} AND {IS_VIEW} AND {column} != ''
         {RANKED}
    """


VISITORS = ", uniqExact(visitor_hash) AS visitors"


def counted(rows: str, columns: str, more: str = "") -> str:
    """Events by columns of the row."""
    return f"""
        SELECT {columns}, count() AS events{more} {rows}
         GROUP BY {columns} ORDER BY events DESC, {columns} LIMIT {ROWS_OF_CUSTOM_QUERIES}
    """


def by_first_view(rows: str, column: str, pageviews: str = "sum(views)") -> str:
    """Page views, or visits, and visitors by a column of the visit's first page view."""
    return f"""
        SELECT label, {pageviews} AS pageviews, uniqExact(visitor) AS visitors, {SHARE}
          FROM (SELECT argMin({column}, ts) AS label, count() AS views,
                       any(visitor_hash) AS visitor
                  {rows} AND {IS_VIEW}
                 GROUP BY session_hash)
         {RANKED}
    """


def custom_events(rows: str) -> str:
    """Custom events by name."""
    return f"""
        SELECT name AS label, count() AS total_events, uniqExact(visitor_hash) AS unique_users,
               uniqExact(session_hash) AS unique_sessions, max(ts) AS last_occurrence,
               min(ts) AS first_occurrence, countIf(properties NOT IN ('', '{{}}'))
               AS events_with_properties,
               100 * unique_users / sum(unique_users) OVER () AS percentage
          {rows} AND {IS_OTHER} AND outbound_domain = ''
         GROUP BY label
         ORDER BY unique_users DESC, total_events DESC, label LIMIT {CUSTOM_LIMIT}
    """
