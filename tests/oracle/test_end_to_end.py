"""Collector, stream and query service return what a plain reading of the requests gives.

All three services are real; only Kafka is a list. Derived visitor and session ids may have any
value, as long as they distinguish the same visitors and sessions as the oracle does.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pytest

from schemas.kinds import KINDS, TABLES, Kind
from schemas.lake.delta_table import open_table, read_version
from schemas.registry import Snapshot
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, Table
from stream.enrich.rules.lookups import Lookups
from stream.rows.kafka_message import KafkaMessage
from stream.writing.batch_writer import BatchWriter
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import FixedSnapshotSource, InMemoryProducer
from tests.ingest.lone_collector import lone_collector
from tests.oracle.expected_rows import Expected, StoredPost, expected
from tests.oracle.oracles import expected_result
from tests.oracle.posted_requests import BAD, Post, post_strategy
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.service import Service, every_type, registry
from tests.oracle.stored_rows import rows_by_table
from tests.oracle.test_fixed_traffic import ALL_GERMAN, OPTIONS
from tests.query.lake import hashed
from tests.query.query_service import NOW
from tests.stream.builders import a_message

BEGIN = NOW - 4 * 3_600_000
PARTITIONS = 2
KIND_OF: Mapping[str, Kind] = {kind.path: kind for kind in KINDS}


class Pipeline:
    """Collector and worker over the lake of a service; the worker is restarted repeatedly."""

    def __init__(self, service: Service, seed: int) -> None:
        self.settings = Settings(data_dir=str(service.root))
        self.random = Random(seed)
        self.outbox = InMemoryProducer()
        self.now = BEGIN
        held = registry()
        self.key = held.keys["acme-track"]
        known = FixedSnapshotSource(Snapshot.read(held.store))
        self.app = lone_collector(self.outbox, known, lambda: self.now, self.settings)
        self.arrived: dict[str, list[KafkaMessage]] = {}
        self.drains: dict[str, BatchWriter] = {}

    def post(self, post: Post) -> StoredPost | None:
        """Send a request; nothing comes of one in which nothing is good."""
        self.now = post.at_ms
        good = [item for item in post.items if item not in BAD[post.path]]
        headers = {"user-agent": post.agent.text}
        if post.trusted:
            headers["x-api-key"] = self.key
        url = f"{post.path}?website_id={post.website}"
        reply = request_once(self.app, "POST", url, post.items, headers, post.address)
        assert (reply.status, reply.json.get("count", 0)) == (
            (200, len(good)) if good else (400, 0)
        )
        if not good:
            return None
        sent = self.outbox.sent[-1]
        waiting = self.arrived.setdefault(post.path, [])
        partition = sent.partition_key % PARTITIONS
        offset = sum(message.partition == partition for message in waiting)
        waiting.append(a_message(offset, *sent.envelopes, partition=partition))
        return StoredPost(post, partition, offset)

    def store(self, path: str) -> None:
        """Hand what has arrived to the worker, in portions, some of them twice."""
        messages = self.arrived.get(path, [])
        for start, end in self.portions(len(messages)):
            if self.random.random() < 0.3:
                self.drains.pop(path, None)
            lookups = Lookups(domain_of="{}.example".format)
            drain = self.drains.setdefault(path, BatchWriter(self.settings, KIND_OF[path], lookups))
            drain.write(messages[max(0, start - self.random.choice((0, 0, 5))) : end])

    def portions(self, count: int) -> Iterator[tuple[int, int]]:
        start = 0
        while start < count:
            end = start + self.random.choice((1, 30, 60))
            yield start, end
            start = end

    def rows(self, table: Table) -> list[Mapping[str, Any]]:
        """All that is stored."""
        handle = open_table(self.settings.lake_url, table)
        assert handle is not None
        paths = [part.path for part in read_version(handle, table).data_files]
        found = duckdb.execute("FROM read_parquet(?, union_by_name = true)", [paths])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def run(service: Service, seed: int) -> tuple[Pipeline, list[Expected]]:
    """Everything posted and stored, and what must have come of it."""
    pipeline = Pipeline(service, seed)
    placed = [one for post in post_strategy(BEGIN, seed) if (one := pipeline.post(post))]
    for path in ("/track", "/vitals", "/errors"):
        pipeline.store(path)
    return pipeline, expected(placed)


def origin(row: Mapping[str, Any]) -> tuple[int, int, int]:
    """Where a row comes from."""
    return row["kafka_partition"], row["kafka_offset"], row["seq"]


def same_people(held: Sequence[Expected], stored: Sequence[Mapping[str, Any]]) -> None:
    """Derived ids are one to one with the visitors and sessions of the oracle."""
    for column, own in (("anonymous_id", "visitor"), ("session_id", "visit")):
        pairs = {(getattr(e, own), row[column]) for e, row in zip(held, stored, strict=True)}
        assert one_to_one(pairs), column
        assert {name is None for name, _ in pairs} == {id is None for _, id in pairs}


def one_to_one(pairs: set[tuple[Hashable, Hashable]]) -> bool:
    """Whether the pairs are a one-to-one mapping."""
    return len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_answers_are_those_of_what_was_posted(seed: int) -> None:
    with Service([]) as service:
        pipeline, wanted = run(service, seed)
        balances(pipeline, len(wanted))
        truth = []
        for table in (table for table in TABLES if table.name in ("events", "vitals", "errors")):
            stored = {origin(row): row for row in pipeline.rows(table)}
            held = [each for each in wanted if each.table == table.name]
            assert set(stored) == {each.place for each in held}
            ours = [stored[each.place] for each in held]
            same_people(held, ours)
            for each, row in zip(held, ours, strict=True):
                who, visit = row["anonymous_id"], row["session_id"]
                ids = {"anonymous_id": who, "visitor_hash": hashed(who)}
                ids |= {"session_id": visit, "session_hash": hashed(visit)}
                truth.append((table.name, each.row | ids))
        service.facts = rows_by_table(truth)

        for frame in framed():
            queries = every_type(frame)
            for query, found in zip(queries, service.results(queries), strict=True):
                assert found == expected_result(service.facts, query), query


def framed() -> Iterator[QueryFrame]:
    """All that was posted; one country of the last day, by hours."""
    last = datetime.fromtimestamp(NOW / 1000, UTC).date()
    everything = StandardQuery(
        name="", start=last - timedelta(days=9), end=last, include_bots=True, limit=1_000
    )
    hours = StandardQuery(name="", start=last - timedelta(days=1), end=last, granularity="hourly")
    yield QueryFrame(everything, {table.name: () for table in TABLES}, OPTIONS[0])
    yield QueryFrame(hours, ALL_GERMAN, OPTIONS[1])


def balances(pipeline: Pipeline, stored: int) -> None:
    """Every accepted item is stored, or a duplicate; there is no other outcome."""
    account = pipeline.rows(LEDGER)
    taken = sum(envelope.count for sent in pipeline.outbox.sent for envelope in sent.envelopes)
    columns = ("received", "stored", "duplicate", "quarantined", "dropped")
    assert {name: sum(row[name] for row in account) for name in columns} == {
        "received": taken,
        "stored": stored,
        "duplicate": taken - stored,
        "quarantined": 0,
        "dropped": 0,
    }
    assert taken - stored > 10
