"""Query types of the last minutes; the requested dates do not matter."""

from collections.abc import Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.request.subject import SubjectKind
from query.request.time_range import TimeRange
from query.sql.row_definitions import EVENT_KIND, NEWEST_FIRST, PAGE_VIEW
from query.sql.select import Cte
from query.standard.declaration.fields import Instant, OptionalText
from query.standard.declaration.query_type import QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.time_windows import MINUTE_MS, last_minutes
from query.standard.types.top_lists import TAGGED_SOURCE
from schemas.tables import EVENTS


class PageNow(Struct, frozen=True):
    path: str
    pageviews: int
    visitors: int


class ReferrerNow(Struct, frozen=True):
    referrer: str
    visitors: int


class CountryNow(Struct, frozen=True):
    name: str
    visitors: int


class CityNow(Struct, frozen=True):
    city: str
    country: str
    visitors: int


class EventNow(Struct, frozen=True):
    event_name: str
    path: OptionalText
    country: OptionalText
    browser_name: OptionalText
    timestamp: Instant
    kind: str
    href: OptionalText
    source: str
    session_id: OptionalText
    visitor_id: OptionalText


class SessionNow(Struct, frozen=True):
    session_id: str
    current_page: OptionalText
    country: OptionalText
    device_type: OptionalText
    pages_viewed: int
    last_seen: Instant


class Velocity(Struct, frozen=True):
    minute: Instant
    pageviews: int
    events: int
    visitors: int


MINUTES = 60

LATEST = Cte(
    "latest",
    f"""
    SELECT session_id, session_hash, path, country, device_type, name, ms,
           ROW_NUMBER() OVER (
               PARTITION BY session_hash, {PAGE_VIEW} ORDER BY {NEWEST_FIRST}
           ) AS row_rank
      FROM visit_rows
     WHERE session_hash IS NOT NULL
    """,  # noqa: S608
)


def minute_rows(rows: Sequence[Row], _: TimeRange, now_ms: int, *__: object) -> Sequence[Row]:
    """A row for each of the last minutes and the current one; zeros where nothing happened."""
    by_minute = {row[0]: row for row in rows}
    last = now_ms - now_ms % MINUTE_MS
    minutes = range(last - (MINUTES - 1) * MINUTE_MS, last + MINUTE_MS, MINUTE_MS)
    return [by_minute.get(minute, (minute, 0, 0, 0)) for minute in minutes]


def realtime_type(
    name: str,
    description: str,
    row: type[Struct],
    sql: str,
    *,
    minutes: int = 5,
    limit: int = 100,
    ctes: tuple[Cte, ...] = (),
) -> QueryType:
    """A query type of the last minutes."""
    return QueryType(
        name=name,
        description=f"{description} in the last {minutes} minutes",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=row,
        default_limit=limit,
        is_live=True,
        sql=Statement(sql=sql, ctes=ctes, time_range_override=last_minutes(minutes)),
    )


def active_visitors_type(
    name: str, description: str, row: type[Struct], group: str, **options: int
) -> QueryType:
    """Active visitors by a column."""
    first, _, second = group.partition(", ")
    second_label = f",\n                   COALESCE({second}, '') AS second_label" if second else ""
    return realtime_type(
        name,
        description,
        row,
        f"""
            SELECT {first} AS label{second_label},
                   COUNT(DISTINCT visitor_hash) AS visitors
              FROM scoped
             WHERE {PAGE_VIEW}
               AND {first} IS NOT NULL
             GROUP BY {group}
             ORDER BY visitors DESC, label{", second_label" if second else ""}
        """,  # noqa: S608
        **options,  # type: ignore[arg-type]  # only `limit`
    )


REALTIME = (
    realtime_type(
        "realtime_pages",
        "visitors and page views by path",
        PageNow,
        f"""
            SELECT path                         AS label,
                   COUNT(*)                     AS pageviews,
                   COUNT(DISTINCT visitor_hash) AS visitors
              FROM scoped
             WHERE {PAGE_VIEW}
               AND path IS NOT NULL
             GROUP BY path
             ORDER BY visitors DESC, pageviews DESC, label
        """,  # noqa: S608
        limit=10,
    ),
    realtime_type(
        "realtime_referrers",
        "visitors by referrer of their session, else by its `utm_source`",
        ReferrerNow,
        f"""
            SELECT {TAGGED_SOURCE}              AS label,
                   COUNT(DISTINCT visitor_hash) AS visitors
              FROM scoped
             WHERE {PAGE_VIEW}
             GROUP BY {TAGGED_SOURCE}
             ORDER BY visitors DESC, label
        """,  # noqa: S608
        limit=10,
    ),
    active_visitors_type(
        "realtime_countries", "visitors by country", CountryNow, "country", limit=50
    ),
    active_visitors_type(
        "realtime_cities",
        "visitors by city",
        CityNow,
        "city, country",
        limit=30,
    ),
    realtime_type(
        "realtime_feed",
        "single events, newest first,",
        EventNow,
        f"""
            SELECT name,
                   path,
                   country,
                   browser_name,
                   ms,
                   {EVENT_KIND} AS kind,
                   href,
                   {TAGGED_SOURCE} AS tagged_source,
                   session_id,
                   anonymous_id,
                   epoch,
                   kafka_partition,
                   kafka_offset,
                   seq
              FROM scoped
             ORDER BY {NEWEST_FIRST}
        """,  # noqa: S608
        minutes=30,
        limit=30,
    ),
    realtime_type(
        "realtime_sessions",
        "sessions with a page view, the latest first,",
        SessionNow,
        f"""
            SELECT MIN(session_id) AS first_session_id,
                   MAX(CASE WHEN {PAGE_VIEW} AND row_rank = 1 THEN path END) AS current_page,
                   MAX(CASE WHEN {PAGE_VIEW} AND row_rank = 1 THEN country END) AS last_country,
                   MAX(CASE WHEN {PAGE_VIEW} AND row_rank = 1 THEN device_type END) AS last_device,
                   COUNT(*) FILTER (WHERE {PAGE_VIEW}) AS page_views,
                   MAX(ms) AS last_seen
              FROM latest
             GROUP BY session_hash
            HAVING COUNT(*) FILTER (WHERE {PAGE_VIEW}) > 0
             ORDER BY last_seen DESC, first_session_id
        """,  # noqa: S608
        limit=20,
        ctes=(LATEST,),
    ),
    QueryType(
        name="realtime_velocity",
        description=f"page views, events and visitors of each of the last {MINUTES} minutes",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Velocity,
        is_live=True,
        sql=Statement(
            time_range_override=last_minutes(MINUTES),
            rows_in_python=minute_rows,
            sql=f"""
                SELECT ms - ms % {MINUTE_MS}               AS at_minute,
                       COUNT(*) FILTER (WHERE {PAGE_VIEW}) AS pageviews,
                       COUNT(*)                            AS events,
                       COUNT(DISTINCT visitor_hash)        AS visitors
                  FROM scoped
                 GROUP BY ms - ms % {MINUTE_MS}
                 ORDER BY at_minute
            """,  # noqa: S608
        ),
    ),
)
