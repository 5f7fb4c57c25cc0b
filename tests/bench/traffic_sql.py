"""Generated traffic of one day as SQL: the same number gives the same rows on every machine.

Sessions come first, one after the other through the day; each becomes up to 16 events. What a
visitor has (agent, place, language) hangs on the visitor, what a visit has (referrer, campaign) on
the session, so that groups and distinct counts are like those of real websites.
"""

from collections.abc import Mapping

import duckdb
import pyarrow as pa
from msgspec import Struct

from query.engine.duckdb_engine import DUCKDB_TYPES
from schemas.tables import CLICKS, ERRORS, EVENTS, VITALS, Table
from stream.storage.table_schema import arrow_schema

MINE = "web_bench"
LINK = "lnk_bench"
OWNER = "org_bench"
WEBSITES = 400
"""Other websites; the 20th part of them has half of their events."""
VISITORS_EACH = 0.06
"""Visitors of a month, by event."""
EVENTS_A_SESSION = 5.4
A_DAY = 100_000_000
"""Numbers of sessions that a day has for itself."""

MACROS = """
CREATE MACRO draw(n, k) AS CAST(hash(n * 64 + k) >> 1 AS BIGINT);
CREATE MACRO share(n, k) AS CAST(draw(n, k) % 1000003 AS DOUBLE) / 1000003;
CREATE MACRO pick(n, k, choices) AS choices[1 + CAST(draw(n, k) % len(choices) AS INTEGER)];
CREATE MACRO often(n, k, most) AS CAST(floor(most * pow(share(n, k), 3)) AS INTEGER);
"""
"""Draws: the k-th of n, always the same."""

BROWSERS = "['Chrome', 'Chrome', 'Chrome', 'Safari', 'Safari', 'Firefox', 'Edge', 'Samsung']"
COUNTRIES = (
    "['US', 'US', 'US', 'DE', 'DE', 'IN', 'IN', 'GB', 'FR', 'BR', 'JP', 'CA', 'ES', 'IT', 'NL',"
    " 'PL', 'SE', 'AU', 'MX', 'TR']"
)
NAMES = (
    "['signup', 'login', 'search', 'add_to_cart', 'add_to_cart', 'checkout', 'purchase',"
    " 'play_video', 'download', 'share', 'subscribe', 'scroll']"
)
SITES = "['google', 'google', 'google', 'bing', 'duckduckgo', 'twitter', 'facebook', 'reddit']"

AGENT = {
    "browser_name": f"pick(visitor, 1, {BROWSERS})",
    "browser_version": "CAST(120 + draw(visitor, 2) % 22 AS VARCHAR)",
    "os_name": "pick(visitor, 3, ['Windows', 'Windows', 'macOS', 'iOS', 'Android', 'Linux'])",
    "os_version": "CAST(10 + draw(visitor, 4) % 9 AS VARCHAR)",
    "device_type": "pick(visitor, 5, ['desktop', 'desktop', 'mobile', 'mobile', 'tablet'])",
    "country": f"pick(visitor, 6, {COUNTRIES})",
    "region": "'Region ' || often(visitor, 7, 200)",
    "city": "'City ' || often(visitor, 8, 2000)",
    "is_bot": "visitor % 50 = 7",
    "bot_reason": "CASE WHEN visitor % 50 = 7 THEN 'agent' END",
    "rules_version": "1",
}
REFERRED = {
    "referrer": f"""CASE WHEN draw(n, 10) % 10 < 4 THEN 'Direct'
        WHEN draw(n, 10) % 10 < 8 THEN 'https://www.' || pick(n, 11, {SITES}) || '.com/'
        ELSE 'https://blog-' || often(n, 12, 3000) || '.example/post/' || often(n, 13, 50) END""",
    "referrer_name": f"""CASE WHEN draw(n, 10) % 10 < 4 THEN 'Direct'
        WHEN draw(n, 10) % 10 < 8 THEN pick(n, 11, {SITES})
        ELSE 'blog-' || often(n, 12, 3000) || '.example' END""",
    "channel": """CASE WHEN draw(n, 14) % 8 = 0 THEN 'Campaign' WHEN draw(n, 10) % 10 < 4
        THEN 'Direct' WHEN draw(n, 10) % 10 < 8 THEN 'Organic Search' ELSE 'Referral' END""",
}
ORIGIN = {
    "website_id": "website",
    "ts": "happened",
    "received_at": "received",
    "kafka_partition": "CAST(draw(n, 15) % 8 AS INTEGER)",
    "kafka_offset": "n",
    "seq": "step",
    "event_id": "md5(CAST(n * 64 + step AS VARCHAR))",
    "anonymous_id": "'anon_' || md5(website || visitor)",
    "session_id": "'sess_' || md5(website || n)",
    "visitor_hash": "CAST(hash(website || visitor) >> 1 AS BIGINT)",
    "session_hash": "CAST(hash(website || '/' || n) >> 1 AS BIGINT)",
}
PAGE = {
    "host": "website || '.example'",
    "path": """CASE draw(e, 20) % 4 WHEN 0 THEN '/' WHEN 1 THEN '/blog/' || often(e, 21, 400)
        ELSE '/products/' || often(e, 21, 4000) END""",
}

ROWS: Mapping[str, Mapping[str, str]] = {
    EVENTS.name: {
        **ORIGIN,
        **AGENT,
        **REFERRED,
        **PAGE,
        "name": f"""CASE kind WHEN 'view' THEN 'screen_view' WHEN 'exit' THEN 'page_exit'
            WHEN 'away' THEN 'outgoing_link' ELSE pick(e, 22, {NAMES}) END""",
        "properties": """CASE kind WHEN 'own' THEN '{"plan":"' || pick(n, 23, ['free', 'pro'])
            || '","amount":' || draw(e, 24) % 20000 / 100 || ',"items":' || draw(e, 25) % 5 || '}'
            END""",
        "title": "'Page ' || often(e, 21, 4000)",
        "utm_source": f"CASE WHEN draw(n, 14) % 8 = 0 THEN pick(n, 26, {SITES}) END",
        "utm_medium": "CASE WHEN draw(n, 14) % 8 = 0 THEN pick(n, 27, ['cpc', 'email']) END",
        "utm_campaign": "CASE WHEN draw(n, 14) % 8 = 0 THEN 'campaign-' || often(n, 28, 40) END",
        "language": "pick(visitor, 29, ['en-US', 'en-GB', 'de-DE', 'fr-FR', 'pt-BR'])",
        "timezone": "pick(visitor, 30, ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata'])",
        "screen_resolution": "pick(visitor, 31, ['1920x1080', '390x844', '2560x1440', '1366x768'])",
        "viewport_size": "(300 + draw(n, 32) % 1600) || 'x' || (400 + draw(n, 33) % 800)",
        "time_on_page": "CASE kind WHEN 'exit' THEN draw(e, 34) % 9000 / 100 END",
        "scroll_depth": "CASE kind WHEN 'exit' THEN draw(e, 35) % 101 END",
        "href": "CASE kind WHEN 'away' THEN 'https://' || target || '/' || often(e, 37, 9) END",
        "link_text": "CASE kind WHEN 'away' THEN 'more of ' || target END",
        "outbound_domain": "CASE kind WHEN 'away' THEN target END",
    },
    VITALS.name: {
        **ORIGIN,
        **AGENT,
        **PAGE,
        "metric_name": "pick(e, 40, ['FCP', 'LCP', 'CLS', 'INP', 'TTFB', 'FPS'])",
        "metric_value": "draw(e, 41) % 400000 / 100",
    },
    ERRORS.name: {
        **ORIGIN,
        **AGENT,
        **PAGE,
        "message": "'Cannot read property ' || often(e, 42, 300)",
        "filename": "'https://' || website || '.example/app.js'",
        "lineno": "CAST(draw(e, 43) % 900 AS INTEGER)",
        "error_type": "pick(e, 44, ['TypeError', 'RangeError', 'NetworkError'])",
        "level": "'error'",
    },
    CLICKS.name: {
        **ORIGIN,
        **AGENT,
        **REFERRED,
        "link_id": f"CASE WHEN website = '{MINE}' THEN '{LINK}' ELSE 'lnk_' || website END",
        "organization_id": f"'{OWNER}'",
        "slug": "'bench'",
    },
}


class TrafficMix(Struct, frozen=True):
    """Who makes the rows of a day."""

    website: str
    """An expression over the number of the session."""
    rows: int
    visitors: int


def traffic_mix(rows: int, days: int, others: int = 0) -> TrafficMix:
    """Traffic of the queried website, or of so many `others` together."""
    few = others // 20
    other = f"'web_' || CASE n % 2 WHEN 0 THEN draw(n, 50) % {few} ELSE draw(n, 50) % {others} END"
    website = other if others else f"'{MINE}'"
    return TrafficMix(website, rows, max(1, round(rows * days * VISITORS_EACH)))


def day_of(
    connection: duckdb.DuckDBPyConnection, table: Table, day: str, number: int, traffic: TrafficMix
) -> pa.Table:
    """The rows of a day, in the order in which they arrived."""
    data_set = connection.sql(select_day(table, day, number, traffic)).to_arrow_table()
    return data_set.cast(arrow_schema(table))


def select_day(table: Table, day: str, number: int, traffic: TrafficMix) -> str:
    """SQL of the same rows; it needs MACROS."""
    values = ROWS[table.name]
    columns = ",\n".join(
        f"CAST({values.get(c.name, 'NULL')} AS {DUCKDB_TYPES[c.type]}) AS {c.name}"
        for c in table.columns
        if c.name != "day"
    )
    sessions = round(traffic.rows / EVENTS_A_SESSION) + 100
    first = number * A_DAY
    return f"""
        WITH sessions AS (
            SELECT n,
                   {traffic.website} AS website,
                   CAST(floor({traffic.visitors} * pow(share(n, 51), 1.5)) AS BIGINT) AS visitor,
                   1 + CAST(floor(15 * pow(share(n, 52), 2)) AS INTEGER) AS length,
                   (n - {first}) * 84000000 // {sessions} AS began
              FROM range({first}, {first + sessions}) AS counted(n)
        ),
        steps AS (SELECT *, unnest(range(length)) AS step FROM sessions LIMIT {traffic.rows}),
        moments AS (
            SELECT *,
                   n * 64 + step AS e,
                   TIMESTAMPTZ '{day} 00:00:00+00'
                   + to_milliseconds(began + step * (2000 + draw(n, 53) % 90000)) AS arrived,
                   CASE WHEN step = 0 OR draw(n * 64 + step, 54) % 100 < 55 THEN 'view'
                        WHEN draw(n * 64 + step, 54) % 100 < 80 THEN 'exit'
                        WHEN draw(n * 64 + step, 54) % 100 < 85 THEN 'away'
                        ELSE 'own' END AS kind
              FROM steps
        ),
        events AS (
            SELECT *,
                   'out-' || often(e, 36, 300) || '.example' AS target,
                   arrived + INTERVAL 250 MILLISECOND AS received,
                   -- one visit in 400 is sent a day late
                   CASE WHEN n % 400 = 0 THEN arrived - INTERVAL 1 DAY ELSE arrived END AS happened
              FROM moments
        )
        SELECT {columns}
          FROM events
    """
