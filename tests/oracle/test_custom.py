"""The service and the oracle give the same answer to every custom question, whole."""

from hypothesis import given
from hypothesis import strategies as st

from query.custom.aggregates import BY_NAME
from tests.oracle.custom import AGGREGATES, CustomQuestion, answer
from tests.oracle.free import free_questions
from tests.oracle.profile import tried
from tests.oracle.service import Service
from tests.oracle.traffic import Traffic, stages, traffic


def test_every_aggregate_has_an_oracle() -> None:
    assert set(AGGREGATES) == set(BY_NAME)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Traffic, list[CustomQuestion]]:
    """What is stored, and what is asked of it."""
    stage = draw(stages)
    stored = draw(traffic(stage))
    return stored, draw(st.lists(free_questions(stage), min_size=10, max_size=20))


@tried(10)
@given(scenes())
def test_the_service_agrees_with_the_oracle(
    scene: tuple[Traffic, list[CustomQuestion]],
) -> None:
    stored, asked = scene
    with Service(stored) as service:
        for question in asked:
            reply = service.post("/v1/query/custom", question.body, question.subject)

            assert reply.status == 200, (question, reply.json)
            assert reply.json["data"] == answer(service.facts, question), question
