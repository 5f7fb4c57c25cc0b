"""Questions about a million events of one website, beside plain DuckDB over one Parquet file.

`python -m tests.bench.questions` writes two million events (half of them of other websites) twice:
as a table of 30 parts, sorted as compaction sorts them, and as one file sorted by website and time.
The service answers over its whole HTTP application; plain DuckDB gets the SQL one would write by
hand. Both have two threads; each question is asked in turns, and the middle time is told.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import AddAction
from msgspec import Struct

from query.app import create_app
from query.duck import TYPES
from schemas.lake import locate
from schemas.registry import Store
from schemas.registry.migrate import migrate
from schemas.settings import Settings
from schemas.tables import EVENTS
from tests.asgi import request
from tests.query.house import furnish
from tests.query.lake import ARROW

DAYS = 30
TURNS = 7
SPAN = {"startDate": "2026-10-01", "endDate": "2026-10-30"}

MADE = {
    "website_id": "CASE WHEN n % 2 = 0 THEN 'shop' ELSE 'other_' || (n % 97) END",
    "ts": "happened",
    "received_at": "happened + INTERVAL 250 MILLISECOND",
    "kafka_partition": "n % 8",
    "kafka_offset": "n",
    "seq": "0",
    "event_id": "CAST(NULL AS VARCHAR)",
    "anonymous_id": "'anon_' || visitor",
    "session_id": "'sess_' || visitor || '_' || (n // 400000)",
    "visitor_hash": "CAST(hash(visitor) >> 1 AS BIGINT)",
    "session_hash": "CAST(hash(visitor || '_' || (n // 400000)) >> 1 AS BIGINT)",
    "name": """CASE WHEN h % 20 < 13 THEN 'screen_view' WHEN h % 20 < 17 THEN 'page_exit'
                    WHEN h % 20 < 18 THEN 'outgoing_link' ELSE 'signup' END""",
    "properties": """'{"plan":"' || (h % 3) || '","value":' || (h % 1000) || '}'""",
    "host": "'shop.example'",
    "path": "'/page/' || CAST(floor(500 * pow((h % 10007) / 10007, 3)) AS INTEGER)",
    "title": "'Page ' || (h % 500)",
    "referrer": "CASE WHEN h % 3 = 0 THEN 'https://r' || (h % 40) || '.example/' ELSE 'Direct' END",
    "referrer_name": "CASE WHEN h % 3 = 0 THEN 'r' || (h % 40) || '.example' ELSE 'Direct' END",
    "channel": "CASE WHEN h % 3 = 0 THEN 'referral' ELSE 'direct' END",
    "browser_name": "(['Chrome', 'Safari', 'Firefox', 'Edge'])[1 + visitor % 4]",
    "os_name": "(['Windows', 'macOS', 'iOS', 'Android'])[1 + visitor % 4]",
    "device_type": "(['desktop', 'mobile'])[1 + visitor % 2]",
    "country": "(['DE', 'US', 'FR', 'IN', 'BR'])[1 + visitor % 5]",
    "time_on_page": "CASE WHEN h % 20 BETWEEN 13 AND 16 THEN (h % 9000) / 100.0 END",
    "href": "CASE WHEN h % 20 = 17 THEN 'https://out' || (h % 50) || '.example/' || (h % 7) END",
    "outbound_domain": "CASE WHEN h % 20 = 17 THEN 'out' || (h % 50) || '.example' END",
    "is_bot": "h % 50 = 1",
    "rules_version": "1",
}

VIEWS = "name IN ('screen_view', 'pageview')"
MINE = "FROM stored WHERE website_id = 'shop' AND NOT is_bot"

QUESTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "summary": (
        {"parameters": ["summary"]},
        f"""WITH s AS (
              SELECT count(*) FILTER (WHERE {VIEWS}) AS views,
                     count(*) FILTER (WHERE NOT {VIEWS} AND name <> 'page_exit') AS others,
                     greatest(epoch(max(ts) - min(ts)), coalesce(sum(time_on_page), 0)) AS lasted
                {MINE} AND session_hash IS NOT NULL GROUP BY session_hash)
            SELECT (SELECT count(*) FILTER (WHERE {VIEWS}) {MINE}),
                   (SELECT count(DISTINCT visitor_hash) {MINE}), count(*), median(lasted),
                   count(*) FILTER (WHERE views = 1 AND others = 0 AND lasted < 10)
              FROM s WHERE views > 0""",
    ),
    "pages": (
        {"parameters": ["pages"]},
        f"""SELECT path, count(*), count(DISTINCT visitor_hash) AS v
              {MINE} AND {VIEWS} GROUP BY path ORDER BY v DESC, 2 DESC, path LIMIT 100""",
    ),
    "traffic": (
        {"parameters": ["traffic"]},
        f"""SELECT referrer_name, count(*), count(DISTINCT visitor_hash) AS v
              {MINE} AND {VIEWS} GROUP BY referrer_name ORDER BY v DESC, 2 DESC, 1 LIMIT 100""",
    ),
    "outbound_links": (
        {"parameters": ["outbound_links"]},
        f"""SELECT href, link_text, count(*), count(DISTINCT visitor_hash),
                   count(DISTINCT session_hash), max(ts)
              {MINE} AND outbound_domain IS NOT NULL
             GROUP BY href, link_text ORDER BY 3 DESC, 1, 2 LIMIT 100""",
    ),
    "custom: country": (
        {
            "query": {
                "table": "events",
                "selects": [
                    {"field": "*", "aggregate": "count", "alias": "n"},
                    {"field": "anonymous_id", "aggregate": "uniq", "alias": "v"},
                ],
                "groupBy": ["country"],
            }
        },
        f"""SELECT country, count(*) AS n, count(DISTINCT visitor_hash)
              {MINE} GROUP BY country ORDER BY n DESC, 1 LIMIT 1000""",
    ),
}


class Figure(Struct, frozen=True):
    """One question's middle times in milliseconds."""

    question: str
    service_ms: float
    plain_ms: float

    @property
    def ratio(self) -> float:
        return self.service_ms / self.plain_ms


def write(root: Path, events: int) -> None:
    """The same events as a table and as one file."""
    columns = ",\n".join(
        f"CAST({MADE.get(c.name, 'NULL')} AS {TYPES[c.type]}) AS {c.name}"
        for c in EVENTS.columns
        if c.name != "day"
    )
    source = f"""
        SELECT {columns}
          FROM (SELECT n, CAST(hash(n) >> 1 AS BIGINT) AS h,
                       CAST(hash(n // 6) % 60000 AS BIGINT) AS visitor,
                       TIMESTAMPTZ '2026-10-01 00:00:00+00'
                       + INTERVAL (n * {DAYS * 86_400_000} // {events}) MILLISECOND AS happened
                  FROM range({events}) AS numbers(n))
         ORDER BY website_id, ts, kafka_partition, kafka_offset, seq"""
    form = "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"COPY ({source}) TO '{root}/one.parquet' {form}")
    table = _table(root)
    for day in range(1, DAYS + 1):
        part = f"day=2026-10-{day:02}/part.parquet"
        target = Path(locate(str(root / "lake"), EVENTS)) / part
        target.parent.mkdir()
        connection.execute(
            f"COPY (FROM '{root}/one.parquet' WHERE ts::DATE = DATE '2026-10-{day:02}') "
            f"TO '{target}' {form}"
        )
        table.create_write_transaction([_action(target, part, day)], "append", table.schema())


def _table(root: Path) -> DeltaTable:
    schema = pa.schema([(c.name, ARROW[c.type]) for c in EVENTS.columns])
    return DeltaTable.create(locate(str(root / "lake"), EVENTS), schema, partition_by=["day"])


def _action(target: Path, part: str, day: int) -> AddAction:
    rows = duckdb.execute("SELECT count(*) FROM read_parquet($1)", [str(target)]).fetchone()
    low, high = f"2026-10-{day:02}T00:00:00.000Z", f"2026-10-{day:02}T23:59:59.999Z"
    stats = {
        "numRecords": rows[0] if rows else 0,
        "minValues": {"website_id": "other_1", "ts": low, "received_at": low},
        "maxValues": {"website_id": "shop", "ts": high, "received_at": high},
        "nullCount": {"website_id": 0, "ts": 0, "received_at": 0},
    }
    values = {"day": f"2026-10-{day:02}"}
    return AddAction(part, target.stat().st_size, values, 0, True, json.dumps(stats))


async def measure(root: Path) -> list[Figure]:
    """Every question, service and plain in turns."""
    settings = Settings(data_dir=str(root), query_threads=2)
    migrate(settings.registry_url)
    store = Store(settings.registry_url)
    headers = {"x-api-key": furnish(store)["acme"]}
    service = create_app(settings, store)
    plain = duckdb.connect()
    plain.execute("SET threads = 2; SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")
    plain.execute(f"CREATE VIEW stored AS FROM read_parquet('{root}/one.parquet')")
    figures = []
    for name, (body, sql) in QUESTIONS.items():
        path = "/v1/query/custom" if "query" in body else "/v1/query"
        payload = json.dumps({**body, **SPAN}).encode()
        ours, theirs = [], []
        for _ in range(TURNS):
            began = time.perf_counter()
            reply = await request(
                service.app, "POST", f"{path}?website_id=shop", [payload], headers
            )
            ours.append(time.perf_counter() - began)
            assert reply.status == 200, reply.body
            theirs.append(timed(plain, sql))
        figures.append(
            Figure(name, 1000 * statistics.median(ours), 1000 * statistics.median(theirs))
        )
    store.close()
    return figures


def timed(plain: duckdb.DuckDBPyConnection, sql: str) -> float:
    """Seconds that plain DuckDB takes."""
    began = time.perf_counter()
    plain.execute(sql).fetchall()
    return time.perf_counter() - began


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory(prefix="tidemark-questions-") as folder:
        write(Path(folder), events)
        figures = asyncio.run(measure(Path(folder)))
    print(f"| question over {events // 2:,} events | service ms | plain DuckDB ms | ratio |")
    print("| --- | --- | --- | --- |")
    for each in figures:
        cells = f"{each.service_ms:.0f} | {each.plain_ms:.0f} | {each.ratio:.2f}"
        print(f"| {each.question} | {cells} |")


if __name__ == "__main__":
    main()
