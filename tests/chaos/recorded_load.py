"""Load generator that records each response: which items were acknowledged, which are unknown."""

import time
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException

from deltalake import DeltaTable, QueryBuilder

from tests.numbered_load import NumberedLoad


class LoadSender(NumberedLoad):
    """Threads that send each batch once, whatever is answered.

    An id is *acknowledged* when its request was answered 200 and *unknown* in every other case: it
    may be stored once or not. With `again` each batch is sent so many times more.
    """

    pause_seconds = 0.004
    timeout_seconds = 10.0

    def __init__(
        self, collect_url: str, website_id: str, threads: int = 4, name: str = "a", again: int = 0
    ) -> None:
        super().__init__(collect_url, website_id, threads, name)
        self.repeated = 0
        """Items that were acknowledged another time."""
        self.unknown: set[str] = set()
        self._again = again

    def send_batch(self, connection: HTTPConnection, ids: Sequence[str]) -> None:
        for _ in range(1 + self._again):
            self._send(connection, ids)

    def _send(self, connection: HTTPConnection, ids: Sequence[str]) -> None:
        try:
            status = self.post(connection, ids).status
        except (OSError, HTTPException):
            status = 0
        with self.lock:
            if status == 200:
                self.repeated += len(self.acknowledged.intersection(ids))
                self.acknowledged.update(ids)
            else:
                self.unknown.update(ids)
        if status != 200:
            connection.close()
            time.sleep(0.1)


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
