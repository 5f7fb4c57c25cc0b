"""Metrics queries give the same from prepared results as the oracle does."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.metrics.rollup_plan import TOTALS
from query.prepared.rollup_tables import ATTRIBUTES, DEVICES, SOURCES
from schemas.tables import EVENTS, ColumnType
from schemas.telemetry.instruments import REGISTRY
from tests.oracle.custom_query_strategies import orders
from tests.oracle.filters import FilterJson
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.metrics import MetricsQuery
from tests.oracle.metrics_query_strategies import TIMES, NamedField, havings
from tests.oracle.query_strategies import filters_of_columns, grouped_filters
from tests.oracle.random_traffic import Stage, Traffic, scenes_with_late_rows
from tests.oracle.service import Service
from tests.oracle.stored_rows import rows_by_table
from tests.oracle.test_metrics import check
from tests.oracle.test_prepared_custom import of_sessions, of_sessions_of_one_place
from tests.oracle.test_prepared_results import CLOSED, prepare
from tests.oracle.test_prepared_visit_filters import condition

COUNTS = ("visitors", "page_views", "events")
VISIT_FACTS = (*SOURCES, *DEVICES, "entry_page", "exit_page")
FIELDS = (*ATTRIBUTES, "channel", *(f"visit.{fact}" for fact in VISIT_FACTS))
FILTERED = [NamedField(name, ColumnType.STRING) for name in FIELDS]


@st.composite
def prepared_queries(draw: st.DrawFn, stage: Stage) -> MetricsQuery:
    """A query of metrics and dimensions that rollups have."""
    is_grouped = draw(st.booleans())
    metrics = draw(
        st.lists(st.sampled_from(COUNTS if is_grouped else sorted(TOTALS)), min_size=1, unique=True)
    )
    fields = st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2, unique=True)
    dimensions = draw(fields) if is_grouped else []
    dimensions += draw(st.lists(st.sampled_from([f"time:{t}" for t in TIMES[1:]]), max_size=1))
    start = stage.day - timedelta(days=draw(st.integers(1, 2)))
    return MetricsQuery(
        metrics=metrics,
        dimensions=dimensions,
        start=start,
        end=stage.day,
        filters=draw(st.lists(grouped_filters(filters_of_columns(FILTERED)), max_size=2)),
        having=draw(havings(metrics)) if draw(st.integers(0, 5)) == 0 else [],
        order_by=draw(orders([*dimensions, *metrics])),
        zone=draw(st.sampled_from((stage.zone, "UTC", "Asia/Kolkata"))),
        limit=draw(st.sampled_from((None, None, 1, 3))),
        page=draw(st.sampled_from((1, 1, 2))),
        compare=draw(st.sampled_from((None, None, "previous_period"))),
    )


def is_prepared(service: Service, query: MetricsQuery) -> bool:
    """Whether a query is answered from prepared results; its rows are those of the oracle."""
    before = answered()
    check(service, query)
    return answered() > before


def answered() -> float:
    """The queries that prepared results have answered in this process."""
    return (
        REGISTRY.get_sample_value("tidemark_prepared_answers_total", {"source": "prepared"}) or 0.0
    )


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Stage, list[MetricsQuery]]:
    """A stage, and queries about its day and the days before."""
    stage = draw(st.sampled_from(CLOSED[:2]))
    return stage, draw(st.lists(prepared_queries(stage), min_size=40, max_size=40))


@try_examples(3)
@given(scenes(), st.sampled_from((fixed_traffic, of_sessions, of_sessions_of_one_place)))
def test_metrics_of_any_traffic(
    scene: tuple[Stage, list[MetricsQuery]], traffic: Callable[[Stage], Traffic]
) -> None:
    stage, queries = scene
    with Service(traffic(stage), portions=2) as service:
        for query in queries:
            check(service, query)
        prepare(service)

        prepared = [is_prepared(service, query) for query in queries]

        assert any(prepared)


@try_examples(3)
@given(scenes_with_late_rows(), st.data())
def test_rows_without_a_rollup_count(
    scene: tuple[Stage, Traffic, Traffic], data: st.DataObject
) -> None:
    stage, stored, late = scene
    queries = data.draw(st.lists(prepared_queries(stage), min_size=15, max_size=15))
    with Service(stored, portions=3) as service:
        for query in queries:
            check(service, query)
        prepare(service)
        late_events = [row for row in late if row.table is EVENTS]
        service.lake.holds(*late_events)
        rows = ((row.table.name, row.values) for row in (*stored, *late_events))
        service.facts = rows_by_table(rows)
        for _ in range(2):
            for query in queries:
                check(service, query)
            prepare(service)


@pytest.mark.parametrize(
    ("metrics", "dimensions", "filters"),
    [
        (sorted(TOTALS), [], []),
        (sorted(TOTALS), ["time:day"], []),
        (sorted(TOTALS), ["time:hour"], [condition("channel", "eq", "Direct")]),
        (sorted(TOTALS), [], [condition("country", "is_not_null")]),
        (COUNTS, ["country"], []),
        (COUNTS, ["visit.channel"], []),
        (COUNTS, ["browser_name", "time:day_of_week"], [condition("visit.channel", "is_not_null")]),
    ],
    ids=str,
)
def test_what_rollups_have_is_prepared(
    metrics: list[str], dimensions: list[str], filters: list[FilterJson]
) -> None:
    stage = CLOSED[0]
    query = MetricsQuery(
        metrics=metrics,
        dimensions=dimensions,
        filters=filters,
        start=stage.day - timedelta(days=2),
        end=stage.day,
    )
    with Service(of_sessions_of_one_place(stage), portions=2) as service:
        assert not is_prepared(service, query)
        prepare(service)

        assert is_prepared(service, query)


@pytest.mark.parametrize(
    ("metrics", "dimensions"),
    [
        (["visits"], ["country"]),
        *(
            pytest.param(*names, marks=pytest.mark.long)
            for names in (
                (["entries"], []),
                (["events"], ["path"]),
                (["events"], ["time:minute"]),
            )
        ),
    ],
    ids=str,
)
def test_other_metrics_read_stored_rows(metrics: list[str], dimensions: list[str]) -> None:
    stage = CLOSED[0]
    plain = MetricsQuery(metrics=["visitors"], start=stage.day - timedelta(days=2), end=stage.day)
    other = MetricsQuery(metrics=metrics, dimensions=dimensions, start=plain.start, end=plain.end)
    with Service(of_sessions_of_one_place(stage), portions=2) as service:
        check(service, plain)
        prepare(service)

        assert is_prepared(service, plain)
        assert not is_prepared(service, other)
