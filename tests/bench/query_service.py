"""The query service over a data set as a process, and plain DuckDB with the same SQL.

The baseline runs the same queries with the same SQL, over one file instead of a table's parts,
on a connection without limits; its time is measured inside DuckDB only.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import psutil
from msgspec import Struct, structs

from query.app import create_app
from query.engine.damaged_files import DamagedFiles
from query.engine.data_file_source import DataFileSource
from query.engine.duckdb_engine import DuckDBEngine, PoolLimits
from query.engine.engine import Row, Sql
from schemas.http.middleware import HttpMiddleware
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.registry import RegistryStore
from schemas.runtime.environment import to_environment
from schemas.tables import Column
from tests.asgi_client import send_request
from tests.bench.dataset import DataSet
from tests.bench.traffic_sql import LINK, MINE
from tests.bench.worker import cpu
from tests.http_client import call, is_ready
from tests.installation import ROOT, eventually, free_port

SECONDS = 20.0
"""Deadline of a query, far above the expected time, so that slow ones are still measured."""


class BenchmarkQuery(Struct, frozen=True):
    """One request."""

    name: str
    path: str
    subject: str
    body: dict[str, Any]


def standard(name: str, kind: str, own: dict[str, Any], span: dict[str, str]) -> BenchmarkQuery:
    """One query type."""
    subject = f"link_id={LINK}" if kind == "link_id" else f"website_id={MINE}"
    return BenchmarkQuery(
        name, "/v1/query", subject, {"parameters": [{"name": name, **own}], **span}
    )


def custom(name: str, query: dict[str, Any], span: dict[str, str]) -> BenchmarkQuery:
    """One custom query."""
    body = {"query": query, **span}
    return BenchmarkQuery(name, "/v1/query/custom", f"website_id={MINE}", body)


class QueryTiming(Struct, frozen=True):
    """How long it took, what it cost, and what the data of the answer were."""

    ms: float
    cpu_ms: float
    """CPU time of all threads, without other processes."""
    data: Any


class RunningService(Struct, frozen=True):
    """The query service as it runs for real."""

    url: str
    key: str
    pid: int

    def ask(self, query: BenchmarkQuery) -> QueryTiming:
        """Ask over HTTP; no data when it took too long or was refused as too heavy."""
        spent, began = cpu(psutil.Process(self.pid)), time.perf_counter()
        url = f"{self.url}{query.path}?{query.subject}"
        reply = call("POST", url, query.body, {"x-api-key": self.key}, 2 * SECONDS)
        took = time.perf_counter() - began
        spent = cpu(psutil.Process(self.pid)) - spent
        assert reply.status in (200, 503), (query, reply.body)
        return QueryTiming(took * 1000, spent * 1000, _data(query, reply.json))

    @property
    def peak_mib(self) -> float:
        """Most memory that the process ever had."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


@contextmanager
def service(data_set: DataSet, prepared_mb: int = 0) -> Iterator[RunningService]:
    """`python -m query` over the set; default settings except deadline and prepared results."""
    settings = structs.replace(
        data_set.settings,
        query_port=free_port(),
        query_seconds=SECONDS,
        prepared_mb=prepared_mb,
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "query"],
        cwd=ROOT,
        env={**os.environ, **to_environment(settings)},
    )
    url = f"http://127.0.0.1:{settings.query_port}"
    try:
        eventually(lambda: is_ready(url))
        yield RunningService(url, data_set.key, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


class PlainDuckDB:
    """Plain DuckDB: answers a question and tells the time of its SQL alone."""

    def __init__(self, app: HttpMiddleware, key: str) -> None:
        self._app = app
        self._key = key

    def ask(self, query: BenchmarkQuery) -> QueryTiming:
        """Ask in this process."""
        OneFile.seconds = OneFile.spent = 0.0
        url = f"{query.path}?{query.subject}"
        payload = [_json(query.body)]
        reply = asyncio.run(send_request(self._app, "POST", url, payload, {"x-api-key": self._key}))
        assert reply.status == 200, (query, reply.body)
        data = _data(query, reply.json)
        return QueryTiming(OneFile.seconds * 1000, OneFile.spent * 1000, data)


class OneFile(DuckDBEngine):
    """The DuckDB engine over one file per table, without hardening."""

    seconds = 0.0
    spent = 0.0
    """Time, and CPU of all threads, that SQL took since the last reset."""
    made: DataSet

    def __init__(
        self,
        name: str,
        source: DataFileSource | str,
        spill: Path,
        limits: PoolLimits,
        damaged: DamagedFiles | None = None,
    ) -> None:
        super().__init__(name, source, spill, limits, damaged)
        self._plain = duckdb.connect()
        self._plain.execute(f"SET threads = {limits.threads}; SET TimeZone = 'UTC'")
        self._plain.execute("SET parquet_metadata_cache = true")

    def intact(self, data_files: Sequence[DataFile]) -> Sequence[DataFile]:
        return ()  # the one file per table has nothing prepared

    async def relation(self, version: TableVersion, columns: Sequence[Column]) -> Sql:
        if not version.data_files:
            return await super().relation(version, columns)
        table = Path(version.data_files[0].path).parts[-3]
        return Sql(f"read_parquet('{self.made.plain(table)}')")

    async def rows(self, sql: Sql, seconds: float) -> list[Row]:
        began, spent = time.perf_counter(), time.process_time()
        try:
            return self._plain.execute(sql.text, dict(sql.values)).fetchall()
        finally:
            OneFile.seconds += time.perf_counter() - began
            OneFile.spent += time.process_time() - spent


@contextmanager
def plain_duckdb(data_set: DataSet) -> Iterator[PlainDuckDB]:
    """The application with plain DuckDB under it."""
    OneFile.made = data_set
    settings = structs.replace(data_set.settings, query_seconds=SECONDS, prepared_mb=0)
    with (
        closing(RegistryStore(settings.registry_url)) as store,
        patch("query.engine.pools.DuckDBEngine", OneFile),
    ):
        opened = create_app(settings, store, "plain")
        try:
            yield PlainDuckDB(opened.app, data_set.key)
        finally:
            opened.close()


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def _data(query: BenchmarkQuery, body: Any) -> Any:
    if not body["success"]:
        return None
    if query.path.endswith(("custom", "metrics")):
        return body["data"]
    entry = body["data"][0]
    if entry["success"]:
        return entry["data"]
    assert entry["code"] in ("QUERY_TIMEOUT", "QUERY_TOO_HEAVY"), (query, entry)
    return None
