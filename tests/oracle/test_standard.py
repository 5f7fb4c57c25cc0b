"""Service and oracle return the same result for every standard query."""

from hypothesis import given
from hypothesis import strategies as st

from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.oracles import ORACLES, expected_result
from tests.oracle.query_strategies import QueryFrame, frames, plain
from tests.oracle.random_traffic import Traffic, stages, traffic
from tests.oracle.service import Service, every_type

GRANULARITIES = tuple(Granularity)
WIDE = (Granularity.HOURLY, Granularity.DAILY, Granularity.WEEKLY)


def test_every_query_type_has_an_oracle() -> None:
    assert set(QUERY_TYPES) - set(ORACLES) == set()


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Traffic, list[QueryFrame]]:
    """Stored traffic, and the parameters of standard queries about it."""
    stage = draw(stages)
    stored = draw(traffic(stage))
    return stored, [draw(plain(stage, WIDE)), draw(frames(stage, GRANULARITIES))]


@try_examples(9)
@given(scenes())
def test_the_service_agrees_with_the_oracle(scene: tuple[Traffic, list[QueryFrame]]) -> None:
    stored, asked = scene
    with Service(stored) as service:
        queries = [query for frame in asked for query in every_type(frame)]
        results = service.results(queries)

        for query, found in zip(queries, results, strict=True):
            assert found == expected_result(service.facts, query), query
