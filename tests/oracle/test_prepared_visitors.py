"""When visitors were first and last seen is right, whatever was prepared or removed since."""

import shutil
from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from schemas.tables import EVENTS, SESSIONS, VISITORS
from tests.oracle.derived_files import data_files, prepare, remove
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.metrics import MetricsQuery
from tests.oracle.metrics_query_strategies import metrics_queries
from tests.oracle.random_traffic import Traffic, stages, traffic
from tests.oracle.service import Service
from tests.oracle.stored_rows import rows_by_table
from tests.oracle.test_invariants import compacted
from tests.oracle.test_metrics import check
from tests.query.lake import Stored

METRICS = ["visitors", "new_visitors", "returning_visitors", "page_views"]
DIMENSIONS = (
    ["visitor.first_seen", "visitor.last_seen"],
    ["visitor.first_seen:week", "visitor.is_new"],
    ["visitor.last_seen:day"],
)

Scene = tuple[Traffic, list[Stored], list[MetricsQuery]]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Stored traffic, events that come later, and queries about visitors."""
    stage = draw(stages)
    queries = [
        structs.replace(
            draw(metrics_queries(stage)),
            metrics=METRICS,
            dimensions=dimensions,
            end=stage.day + timedelta(days=2),
            subject="shop",
            having=[],
            order_by=[],
            limit=None,
            page=1,
        )
        for dimensions in DIMENSIONS
    ]
    # One without filters, so that rows are left.
    queries.append(structs.replace(queries[0], filters=[], compare=None, include_bots=True))
    later = [row for row in draw(traffic(stage)) if row.table is EVENTS]
    return draw(traffic(stage)), later, queries


def check_all(service: Service, stored: Sequence[Stored], queries: list[MetricsQuery]) -> None:
    """Assert that each result is that of these rows alone."""
    service.facts = rows_by_table((row.table.name, row.values) for row in stored)
    for query in queries:
        check(service, query)


def drop(service: Service, table: str) -> None:
    """Delete a derived table, as before an upgrade."""
    shutil.rmtree(service.root / "lake" / table)
    service.reopen()


@try_examples(3)
@given(scenes())
def test_prepared_visitors_are_those_of_all_events(scene: Scene) -> None:
    stored, late, queries = scene
    with Service(stored, portions=3) as service:
        prepare(service, SESSIONS)  # a lake that was written before there was the table
        check_all(service, stored, queries)

        prepare(service, VISITORS)
        check_all(service, stored, queries)

        compacted(service)
        check_all(service, stored, queries)
        prepare(service, VISITORS)
        check_all(service, stored, queries)

        old_files = data_files(service)
        service.lake.holds(*late)
        check_all(service, [*stored, *late], queries)
        prepare(service, VISITORS)
        check_all(service, [*stored, *late], queries)

        remove(service, data_files(service) - old_files)
        check_all(service, stored, queries)
        prepare(service, VISITORS)
        check_all(service, stored, queries)
        if data_files(service):
            drop(service, VISITORS.table.name)
            check_all(service, stored, queries)


@try_examples(1)
@given(scenes())
def test_damaged_and_missing_files_are_left_out(scene: Scene) -> None:
    stored, _, queries = scene
    with Service(stored, portions=3) as service:
        prepare(service, VISITORS)
        files = sorted((service.root / "lake" / "visitors").glob("day=*/*.parquet"))
        for i, file in enumerate(files):
            if i % 3 == 0:
                file.unlink()
            elif i % 3 == 1:
                file.write_bytes(b"PAR1" + b"\0" * (file.stat().st_size - 8) + b"PAR1")

        check_all(service, stored, queries)
