"""Groups of tests that share a costly fixture, and what only `make test-long` runs.

A stack, a broker or a browser is started for the first test of its group and ends with the last.
"""

GROUPS = (
    ("tests/chaos/",),
    ("tests/web/",),
    ("tests/flow/",),
    ("tests/browser/",),
    ("tests/deploy/local/test_up.py",),
    ("tests/clients/test_clients.py", "tests/clients/test_outages.py"),
    (
        "tests/ingest/publishing/test_producer_on_kafka.py",
        "tests/ingest/server/test_hostile_input.py",
        "tests/ingest/endpoints/test_access.py",
        "tests/ingest/publishing/test_producer.py",
    ),
    ("tests/stream/test_worker_with_kafka.py", "tests/stream/test_worker_losses.py"),
    ("tests/schemas/http/",),
    ("tests/schemas/registry/",),
    ("tests/oracle/test_prepared_results.py",),
    ("tests/oracle/test_standard.py",),
    ("tests/oracle/test_fixed_traffic.py",),
    ("tests/oracle/test_metrics.py",),
    ("tests/stream/maintenance/test_scheduler.py",),
    ("tests/oracle/test_end_to_end.py",),
    ("tests/query/standard/test_query_types.py",),
    ("tests/oracle/test_invariants.py",),
)
"""The longest first; every other file is a group of its own, which is shorter than these."""

LONG = (
    "tests/browser/test_api_docs.py",
    "tests/chaos/",
    "tests/clients/test_clients.py",
    "tests/clients/test_history.py",
    "tests/clients/test_outages.py",
    "tests/conformance/clickhouse/",
    "tests/deploy/local/doctor/test_kafka.py",
    "tests/deploy/local/kafka/test_brokers.py",
    "tests/deploy/local/test_up.py",
    "tests/deploy/systemd/test_run.py",
    "tests/deploy/test_install.py",
    "tests/flow/test_generated_clients.py",
    "tests/flow/test_kafka_security.py",
    "tests/flow/test_mcp.py",
    "tests/flow/test_object_store.py",
    "tests/flow/test_run_book.py",
    "tests/flow/test_traces.py",
    "tests/ingest/publishing/test_topic_on_kafka.py",
    "tests/oracle/test_prepared_custom.py",
    "tests/oracle/test_prepared_cut_ranges.py",
    "tests/oracle/test_prepared_lists.py",
    "tests/oracle/test_prepared_measurements.py",
    "tests/oracle/test_prepared_metrics.py",
    "tests/oracle/test_prepared_places.py",
    "tests/oracle/test_prepared_sessions.py",
    "tests/oracle/test_prepared_visit_filters.py",
    "tests/oracle/test_prepared_visitors.py",
    "tests/oracle/test_prepared_visits.py",
    "tests/oracle/test_session_table.py",
    "tests/query/prepared/test_known_visitors.py",
    "tests/query/prepared/test_rebuild.py",
    "tests/query/response/test_large_response.py",
    "tests/query/standard/sql/test_property_values.py",
    "tests/query/standard/test_explain.py",
    "tests/query/standard/test_newest_rows.py",
    "tests/query/standard/test_page_keys.py",
    "tests/query/standard/test_prepared_keys.py",
    "tests/query/standard/test_shared_queries.py",
    "tests/schemas/http/test_memory_under_flood.py",
    "tests/schemas/kafka/test_connection_problem.py",
    "tests/schemas/runtime/test_gc_freeze.py",
    "tests/schemas/telemetry/test_unserved_metrics.py",
    "tests/stream/maintenance/test_vacuum.py",
    "tests/stream/storage/test_table_numbers.py",
    "tests/stream/test_worker_losses.py",
    "tests/web/test_accessibility.py",
    "tests/web/test_address.py",
    "tests/web/test_downloads.py",
    "tests/web/test_filter_panel.py",
    "tests/web/test_hostile_texts.py",
    "tests/web/test_layout_shift.py",
    "tests/web/test_print.py",
    "tests/web/test_shares.py",
    "tests/web/test_small_window.py",
    "tests/web/test_unreachable.py",
)
"""Whole files of `make test-long`; single tests and parameters there are marked `long`."""

MORE_EXAMPLES = ("tests/oracle/", "tests/query/test_hostile_queries.py")
"""Properties of which `make test-long` tries more examples."""


def is_long(nodeid: str) -> bool:
    """Whether a line of LONG has it."""
    return nodeid.startswith(LONG)


def group_of(nodeid: str) -> str:
    """The name of a test's group: the first path of its line in GROUPS, or its file."""
    path = nodeid.partition("::")[0]
    return next((paths[0] for paths in GROUPS if path.startswith(paths)), path)


def rank(group: str) -> int:
    """Where a group stands in GROUPS; the others come after all of them."""
    return _RANKS.get(group, len(GROUPS))


def is_listed(group: str) -> bool:
    """Whether it stands in GROUPS."""
    return group in _RANKS


_RANKS = {paths[0]: number for number, paths in enumerate(GROUPS)}
