"""All metrics that processes count or time, declared in one place.

Labels have few values: kinds, tables, query types, outcomes; never an id of a tenant or a visitor.
Where their values are known, counters exist with 0 from the start (`start_at_zero`): an increase is
computed from two samples, so the first event of a counter that appears with it would be in none.
What is counted elsewhere already (queues, progress) is read when the metrics are requested.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from schemas.telemetry.spans import child_span


class ItemCounts(Collector):
    """Counts in a dict, without a lock; the family of Prometheus is made when it is requested.

    One thread adds; any may collect.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        registry.register(self)

    def add(self, topic: str, outcome: str, items: int) -> None:
        """Count items of one request."""
        key = topic, outcome
        self._counts[key] = self._counts.get(key, 0) + items

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "tidemark_items",
            "Valid items of requests by topic: acknowledged, failed (Kafka did not acknowledge), "
            "or spooled (on disk while Kafka is away, and acknowledged later)",
            labels=("topic", "outcome"),
        )
        for labels, items in self._counts.copy().items():
            family.add_metric(labels, items)
        yield family


REGISTRY = CollectorRegistry()
Metric = TypeVar("Metric", Counter, Histogram)

SHORT_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
LONG_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


def start_at_zero(metric: Metric, *values: Iterable[str]) -> Metric:
    """The metric, with the series of all combinations of these values of its labels, in order."""
    for labels in product(*values):
        metric.labels(*labels)
    return metric


ITEMS = ItemCounts(REGISTRY)
ACKNOWLEDGEMENT_SECONDS = Histogram(
    "tidemark_kafka_acknowledgement_seconds",
    "Time from sending a chunk to its acknowledgement by Kafka",
    ("topic",),
    buckets=SHORT_SECONDS,
    registry=REGISTRY,
)
CHUNK_BYTES = Histogram(
    "tidemark_chunk_bytes",
    "Size of the chunks sent to Kafka",
    ("topic",),
    buckets=tuple(4**power for power in range(4, 12)),
    registry=REGISTRY,
)
BATCH_SECONDS = Histogram(
    "tidemark_batch_seconds",
    "Time to enrich, write and commit a batch",
    ("topic",),
    buckets=LONG_SECONDS,
    registry=REGISTRY,
)
BATCH_ROWS = Histogram(
    "tidemark_batch_rows",
    "Rows of a batch that were stored",
    ("topic",),
    buckets=(0, 1, 10, 100, 1_000, 10_000, 100_000),
    registry=REGISTRY,
)
COMMIT_SECONDS = Histogram(
    "tidemark_commit_seconds",
    "Time to commit one version of a table, its retries included: committed, or failed",
    ("table", "outcome"),
    buckets=LONG_SECONDS,
    registry=REGISTRY,
)
STORED_ROWS = Counter(
    "tidemark_stored_rows",
    "Rows of batches: stored, duplicates, or quarantined",
    ("topic", "outcome"),
    registry=REGISTRY,
)
LIMIT_FAILURES = start_at_zero(
    Counter(
        "tidemark_limit_failures",
        "Exchanges of rate-limit counts that failed, by where they are shared: server or machine",
        ("counts",),
        registry=REGISTRY,
    ),
    ("server", "machine"),
)
LIMITED_REQUESTS = Counter(
    "tidemark_limited_requests",
    "Requests that a rate limit rejected, by its kind: a group of endpoints, or attempts; "
    "`_network` is the part of one client network",
    ("limit",),
    registry=REGISTRY,
)
QUARANTINED_ITEMS = Counter(
    "tidemark_quarantined_items",
    "Entries of the quarantine by the stage that refused them",
    ("topic", "stage"),
    registry=REGISTRY,
)
DROPPED_ITEMS = Counter(
    "tidemark_dropped_items",
    "Items that were received and dropped on purpose",
    ("reason",),
    registry=REGISTRY,
)
TEE_REQUESTS = start_at_zero(
    Counter(
        "tidemark_tee_requests",
        "Copies of requests for the servers of other products: sent, refused by the server, not "
        "answered, not sent to the address of a private network, or dropped (queue full, server "
        "paused after it did not answer, privacy of the website, an API key of ours in the copy, "
        "stopped)",
        ("outcome",),
        registry=REGISTRY,
    ),
    (
        *("sent", "refused", "no reply", "address"),
        *("queue full", "paused", "privacy", "own key", "stopped"),
    ),
)
SILENT_WEBSITES = Gauge(
    "tidemark_silent_websites",
    "Websites with regular traffic that have sent nothing for twice their longest pause",
    registry=REGISTRY,
)
LAST_BACKUP = Gauge(
    "tidemark_last_backup_timestamp_seconds",
    "When the newest backup of TIDEMARK_BACKUP_TARGET was taken; 0 when there is none",
    registry=REGISTRY,
)
BACKUP_DUE = Gauge(
    "tidemark_backup_due_timestamp_seconds",
    "When the next backup is to be taken; 0 without a schedule",
    registry=REGISTRY,
)
TABLE_FILES = Gauge(
    "tidemark_table_files",
    "Data files of the newest version of a table, as of the last maintenance",
    ("table",),
    registry=REGISTRY,
)
TASK_SECONDS = Histogram(
    "tidemark_maintenance_task_seconds",
    "Time of a maintenance task of the keeper for one table",
    ("task", "table"),
    buckets=LONG_SECONDS,
    registry=REGISTRY,
)
TASK_FAILURES = Counter(
    "tidemark_maintenance_task_failures",
    "Maintenance tasks that failed and are repeated in the next cycle",
    ("task", "table"),
    registry=REGISTRY,
)
QUERY_SECONDS = Histogram(
    "tidemark_query_seconds",
    "Time of one query by its type and engine, without waiting for its turn",
    ("type", "engine", "outcome"),
    buckets=(*SHORT_SECONDS, 10, 30),
    registry=REGISTRY,
)
WATERMARK = Gauge(
    "tidemark_watermark_timestamp_seconds",
    "Everything acknowledged before this Unix time is in the table",
    ("table",),
    registry=REGISTRY,
)
CACHED_FILE_READS = start_at_zero(
    Counter(
        "tidemark_cached_file_reads",
        "Data files of an object store that queries read: hit (on this machine already), or miss",
        ("outcome",),
        registry=REGISTRY,
    ),
    ("hit", "miss"),
)
PREPARED_ANSWERS = start_at_zero(
    Counter(
        "tidemark_prepared_answers",
        "Queries of types that can be prepared: from prepared results, or from stored rows",
        ("source",),
        registry=REGISTRY,
    ),
    ("prepared", "rows"),
)
LIST_PAGES = start_at_zero(
    Counter(
        "tidemark_list_pages",
        "Pages of lists whose keys can be prepared: found in prepared results, or in stored rows",
        ("source",),
        registry=REGISTRY,
    ),
    ("prepared", "rows"),
)
VISIT_SOURCES = start_at_zero(
    Counter(
        "tidemark_visit_sources",
        "Data files whose visits queries read: prepared by the keeper, or computed by the query",
        ("source",),
        registry=REGISTRY,
    ),
    ("prepared", "computed"),
)
VISITOR_SOURCES = start_at_zero(
    Counter(
        "tidemark_visitor_sources",
        "Data files whose visitors queries read: prepared by the keeper, or computed by the query",
        ("source",),
        registry=REGISTRY,
    ),
    ("prepared", "computed"),
)
REJECTED_ITEMS = Counter(
    "tidemark_rejected_items",
    "Invalid items of requests that were answered with success, by route",
    ("route",),
    registry=REGISTRY,
)
CONTRACT_DRIFT = start_at_zero(
    Counter(
        "tidemark_contract_drift_items",
        "Custom events that differ from the contract of their website: accepted, or refused",
        ("outcome",),
        registry=REGISTRY,
    ),
    ("accepted", "refused"),
)
SPOOL_REFUSALS = Counter(
    "tidemark_spool_refusals",
    "Requests that were refused while Kafka was away because the spool took no more",
    registry=REGISTRY,
)
DIRECT_FAILURES = Counter(
    "tidemark_direct_failures",
    "Unexpected errors of the collector's shortest path; the usual path took the request",
    registry=REGISTRY,
)
SPANS = start_at_zero(
    Counter(
        "tidemark_spans",
        "Spans of traces: sent, failed (the receiver did not take them), or dropped (queue full)",
        ("outcome",),
        registry=REGISTRY,
    ),
    ("sent", "failed", "dropped"),
)


@cache
def acknowledgement_seconds(topic: str) -> Histogram:
    """The histogram of this topic; looking it up by its label costs some microseconds."""
    return ACKNOWLEDGEMENT_SECONDS.labels(topic)


@cache
def chunk_bytes(topic: str) -> Histogram:
    """The histogram of this topic, in the same way."""
    return CHUNK_BYTES.labels(topic)


@contextmanager
def timed_query(query_type: str, engine: str) -> Iterator[None]:
    """Time a query, and count it as answered, or as failed when it raises."""
    began, outcome = time.perf_counter(), "failed"
    attributes = {"tidemark.query.type": query_type, "tidemark.engine": engine}
    try:
        with child_span("query", attributes):
            yield
        outcome = "answered"
    finally:
        QUERY_SECONDS.labels(query_type, engine, outcome).observe(time.perf_counter() - began)


@contextmanager
def timed_commit(table: str) -> Iterator[None]:
    """Time a commit, and count it as committed, or as failed when it raises."""
    began, outcome = time.perf_counter(), "failed"
    try:
        with child_span("commit", {"tidemark.table": table}):
            yield
        outcome = "committed"
    finally:
        COMMIT_SECONDS.labels(table, outcome).observe(time.perf_counter() - began)


def gauge(name: str, description: str, read: Callable[[], float]) -> None:
    """A gauge whose value is read when the metrics are requested."""
    Gauge(name, description, registry=REGISTRY).set_function(read)
