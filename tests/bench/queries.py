"""Query latency over a million events, beside hand-written SQL in plain DuckDB.

Plain DuckDB reads one well-written Parquet file with the same rows. Both have two threads; each
query runs in turns, and the median is shown.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb

from tests.bench.dataset import DataSet, make
from tests.bench.query_service import BenchmarkQuery, RunningService, custom, service, standard
from tests.bench.results import BenchmarkResult, Figure

EVENTS = 1_000_000
TURNS = 7
PLAIN = "plain DuckDB, one file, SQL by hand"

VIEWS = "name IN ('screen_view', 'pageview')"
MINE = "FROM stored WHERE NOT is_bot"

QUESTIONS = {
    "summary": f"""
        WITH s AS (
          SELECT count(*) FILTER (WHERE {VIEWS}) AS views,
                 count(*) FILTER (WHERE NOT {VIEWS} AND name <> 'page_exit') AS others,
                 greatest(epoch(max(ts) - min(ts)), coalesce(sum(time_on_page), 0)) AS lasted
            {MINE} AND session_hash IS NOT NULL GROUP BY session_hash)
        SELECT (SELECT count(*) FILTER (WHERE {VIEWS}) {MINE}),
               (SELECT count(DISTINCT visitor_hash) {MINE}), count(*), median(lasted),
               count(*) FILTER (WHERE views = 1 AND others = 0 AND lasted < 10)
          FROM s WHERE views > 0""",
    "pages": f"""
        SELECT path, count(*), count(DISTINCT visitor_hash) AS v
          {MINE} AND {VIEWS} GROUP BY path ORDER BY v DESC, 2 DESC, path LIMIT 100""",
    "traffic": f"""
        SELECT referrer_name, count(*), count(DISTINCT visitor_hash) AS v
          {MINE} AND {VIEWS} GROUP BY referrer_name ORDER BY v DESC, 2 DESC, 1 LIMIT 100""",
    "outbound_links": f"""
        SELECT href, link_text, count(*), count(DISTINCT visitor_hash),
               count(DISTINCT session_hash), max(ts)
          {MINE} AND outbound_domain IS NOT NULL
         GROUP BY href, link_text ORDER BY 3 DESC, 1, 2 LIMIT 100""",
}
CUSTOM = {
    "table": "events",
    "selects": [
        {"field": "*", "aggregate": "count", "alias": "n"},
        {"field": "anonymous_id", "aggregate": "uniq", "alias": "v"},
    ],
    "groupBy": ["country"],
}
CUSTOM_SQL = f"""
    SELECT country, count(*) AS n, count(DISTINCT visitor_hash)
      {MINE} GROUP BY country ORDER BY n DESC, 1 LIMIT 1000"""


def measure() -> BenchmarkResult:
    """All questions over a fresh data set."""
    with tempfile.TemporaryDirectory(prefix="tidemark-questions-") as folder:
        data_set = make(Path(folder), EVENTS, EVENTS)
        with service(data_set) as ours, closing(duckdb.connect()) as plain:
            plain.execute(
                "SET threads = 2; SET TimeZone = 'UTC'; SET parquet_metadata_cache = true"
            )
            plain.execute(f"CREATE VIEW stored AS FROM read_parquet('{data_set.plain('events')}')")
            figures = [timed(q, sql, ours, plain) for q, sql in run_query(data_set)]
    how = (
        f"{EVENTS:,} events of one website in 30 days among as many of others, stored by the "
        f"worker's writer and compacted; over HTTP, median of {TURNS}."
    )
    return BenchmarkResult("Questions", how, figures)


def run_query(data_set: DataSet) -> Iterator[tuple[BenchmarkQuery, str]]:
    """The questions, each with what one would write by hand."""
    for name, sql in QUESTIONS.items():
        yield standard(name, "website_id", {}, data_set.span()), sql
    yield custom("custom: by country", CUSTOM, data_set.span()), CUSTOM_SQL


def timed(
    query: BenchmarkQuery, sql: str, ours: RunningService, plain: duckdb.DuckDBPyConnection
) -> Figure:
    """Both in turns."""
    took, theirs = [], []
    for _ in range(TURNS):
        took.append(ours.ask(query).ms)
        began = time.perf_counter()
        plain.execute(sql).fetchall()
        theirs.append((time.perf_counter() - began) * 1000)
    middle = statistics.median(took)
    return Figure(query.name, middle, "ms", statistics.median(theirs), PLAIN, "ratio ≤ 1.3")
