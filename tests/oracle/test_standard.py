"""The service and the oracle give the same answer to every question, whole."""

from hypothesis import given
from hypothesis import strategies as st

from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from tests.oracle.hypothesis_profile import tried
from tests.oracle.oracles import ORACLES, answer
from tests.oracle.query_strategies import Frame, frames, plain
from tests.oracle.random_traffic import Traffic, stages, traffic
from tests.oracle.service import Service, every_type

GRANULARITIES = tuple(Granularity)
WIDE = (Granularity.HOURLY, Granularity.DAILY, Granularity.WEEKLY)


def test_every_query_type_has_an_oracle() -> None:
    assert set(QUERY_TYPES) - set(ORACLES) == set()


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Traffic, list[Frame]]:
    """What is stored, and what is asked of it."""
    stage = draw(stages)
    stored = draw(traffic(stage))
    return stored, [draw(plain(stage, WIDE)), draw(frames(stage, GRANULARITIES))]


@tried(9)
@given(scenes())
def test_the_service_agrees_with_the_oracle(scene: tuple[Traffic, list[Frame]]) -> None:
    stored, asked = scene
    with Service(stored) as service:
        questions = [question for frame in asked for question in every_type(frame)]
        answers = service.answers(questions)

        for question, found in zip(questions, answers, strict=True):
            assert found == answer(service.facts, question), question
