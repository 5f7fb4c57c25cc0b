"""Service and oracle return the same result for every custom query."""

from hypothesis import given
from hypothesis import strategies as st

from query.sql.aggregates import BY_NAME
from tests.oracle.custom import AGGREGATES, CustomQuery, expected_result
from tests.oracle.custom_query_strategies import custom_queries
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.random_traffic import STAGES, Stage, Traffic, stages, traffic
from tests.oracle.service import Service


def test_every_aggregate_has_an_oracle() -> None:
    assert set(AGGREGATES) == set(BY_NAME)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Traffic, list[CustomQuery]]:
    """Stored traffic, and custom queries about it."""
    stage = draw(stages)
    stored = draw(traffic(stage))
    return stored, draw(st.lists(custom_queries(stage), min_size=10, max_size=20))


@try_examples(8)
@given(scenes())
def test_the_service_agrees_with_the_oracle(
    scene: tuple[Traffic, list[CustomQuery]],
) -> None:
    stored, queries = scene
    with Service(stored) as service:
        for query in queries:
            reply = service.post("/v1/query/custom", query.body, query.subject)

            assert reply.status == 200, (query, reply.json)
            assert reply.json["data"] == expected_result(service.facts, query), query


@st.composite
def fixed_traffic_scenes(draw: st.DrawFn) -> tuple[Stage, list[CustomQuery]]:
    """A stage with fixed traffic, and custom queries about it."""
    stage = draw(st.sampled_from(STAGES[:4]))
    return stage, draw(st.lists(custom_queries(stage), min_size=25, max_size=25))


@try_examples(4)
@given(fixed_traffic_scenes())
def test_the_service_agrees_with_the_oracle_about_a_town(
    scene: tuple[Stage, list[CustomQuery]],
) -> None:
    stage, queries = scene
    with Service(fixed_traffic(stage)) as service:
        for query in queries:
            reply = service.post("/v1/query/custom", query.body, query.subject)

            assert reply.status == 200, (query, reply.json)
            assert reply.json["data"] == expected_result(service.facts, query), query
