"""Load generator that records each response: which items were acknowledged, which are unknown."""

import json
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from deltalake import DeltaTable, QueryBuilder

BATCH = 3


class LoadSender:
    """Threads that post small batches of numbered events to one website until stopped.

    An id is *acknowledged* when its request was answered 200, *refused* when it was answered 503
    before anything was produced, and *unknown* in every other case: it may be stored once or not.
    With `again` each batch is sent so many times more, whatever was answered.
    """

    def __init__(
        self, collect_url: str, website_id: str, threads: int = 4, name: str = "a", again: int = 0
    ) -> None:
        self.repeated = 0
        """Items that were acknowledged another time."""
        self._again = again
        self.acknowledged: set[str] = set()
        self.unknown: set[str] = set()
        self._address = urlsplit(collect_url).netloc
        self._website = website_id
        self._name = name
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(threads)]

    def __enter__(self) -> "LoadSender":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int, seconds: float = 60) -> None:
        """Return when that many more ids are acknowledged."""
        goal = len(self.acknowledged) + more
        until = time.monotonic() + seconds
        while len(self.acknowledged) < goal:
            assert time.monotonic() < until, f"{len(self.acknowledged)} of {goal} acknowledged"
            time.sleep(0.02)

    def _run(self, thread: int) -> None:
        connection = HTTPConnection(self._address, timeout=10)
        number = 0
        while not self._stop.is_set():
            ids = [f"{self._name}-{thread}-{number}-{i}" for i in range(BATCH)]
            number += 1
            for _ in range(1 + self._again):
                self._send(connection, ids)
            time.sleep(0.004)
        connection.close()

    def _send(self, connection: HTTPConnection, ids: list[str]) -> None:
        status = self._post(connection, ids)
        with self._lock:
            if status == 200:
                self.repeated += len(self.acknowledged.intersection(ids))
                self.acknowledged.update(ids)
            else:
                self.unknown.update(ids)
        if status != 200:
            connection.close()
            time.sleep(0.1)

    def _post(self, connection: HTTPConnection, ids: list[str]) -> int:
        items = [{"name": "chaos", "eventId": i, "anonymousId": i} for i in ids]
        try:
            connection.request("POST", f"/track?website_id={self._website}", json.dumps(items))
            response = connection.getresponse()
            response.read()
        except (OSError, HTTPException):
            return 0
        return response.status


def query_lake(lake: str, table: str, sql: str) -> list[tuple[int | str, ...]]:
    """Rows of an SQL query on one table, run by DataFusion instead of our query engine."""
    opened = QueryBuilder().register(table, DeltaTable(f"{lake}/{table}"))
    response = opened.execute(sql).read_all()
    columns = [response.column(name).to_pylist() for name in response.schema.names]
    return list(zip(*columns, strict=True))


def event_id_counts(lake: str, website_id: str) -> Counter[str]:
    """How often each id lies in the events table."""
    sql = f"SELECT event_id FROM events WHERE website_id = '{website_id}'"
    return Counter(str(row[0]) for row in query_lake(lake, "events", sql))


def ledger_balance(lake: str) -> tuple[int, int, int, int]:
    """By the ledger: received, stored, duplicate, and what has another name."""
    names = "sum(received), sum(stored), sum(duplicate), sum(quarantined + dropped)"
    received, stored, copies, other = map(
        int, query_lake(lake, "ledger", f"SELECT {names} FROM ledger")[0]
    )
    return received, stored, copies, other


def duplicate_positions(lake: str, website_id: str) -> Counter[tuple[int, ...]]:
    """How often each place of a duplicate lies in the quarantine."""
    sql = (
        "SELECT kafka_partition, kafka_offset, seq FROM quarantine "
        f"WHERE stage = 'duplicate' AND subject_id = '{website_id}'"
    )
    return Counter(tuple(map(int, row)) for row in query_lake(lake, "quarantine", sql))


def row_count(lake: str) -> int:
    """Rows of the events table."""
    return int(query_lake(lake, "events", "SELECT count(*) FROM events")[0][0])
