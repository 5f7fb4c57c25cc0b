"""Service and oracle return the same result for every metrics query."""

from hypothesis import given
from hypothesis import strategies as st

from query.metrics.ledger import LEDGER_METRIC_NAMES
from query.metrics.metrics import BY_NAME
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.metric_values import METRICS
from tests.oracle.metrics import MetricsQuery, expected_result
from tests.oracle.metrics_comparison import expected_comparison
from tests.oracle.metrics_query_strategies import metrics_queries
from tests.oracle.random_traffic import STAGES, Stage, Traffic, stages, traffic
from tests.oracle.service import Service


def test_every_metric_of_visitors_has_an_oracle() -> None:
    assert set(METRICS) == set(BY_NAME) - LEDGER_METRIC_NAMES


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Traffic, list[MetricsQuery]]:
    """Stored traffic, and metrics queries about it."""
    stage = draw(stages)
    stored = draw(traffic(stage))
    return stored, draw(st.lists(metrics_queries(stage), min_size=10, max_size=20))


def check(service: Service, query: MetricsQuery) -> None:
    """Assert that the service gives what the oracle does."""
    reply = service.post("/v1/query/metrics", query.body, query.subject)

    assert reply.status == 200, (query, reply.json)
    assert reply.json["data"] == expected_result(service.facts, query), query
    if query.compare is not None:
        assert reply.json["comparison"] == expected_comparison(service.facts, query), query


@try_examples(8)
@given(scenes())
def test_the_service_agrees_with_the_oracle(scene: tuple[Traffic, list[MetricsQuery]]) -> None:
    stored, queries = scene
    with Service(stored) as service:
        for query in queries:
            check(service, query)


@st.composite
def fixed_traffic_scenes(draw: st.DrawFn) -> tuple[Stage, list[MetricsQuery]]:
    """A stage with fixed traffic, and metrics queries about it."""
    stage = draw(st.sampled_from(STAGES[:4]))
    return stage, draw(st.lists(metrics_queries(stage), min_size=25, max_size=25))


@try_examples(4)
@given(fixed_traffic_scenes())
def test_the_service_agrees_with_the_oracle_about_fixed_traffic(
    scene: tuple[Stage, list[MetricsQuery]],
) -> None:
    stage, queries = scene
    with Service(fixed_traffic(stage)) as service:
        for query in queries:
            check(service, query)
