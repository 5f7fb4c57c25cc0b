"""The service and the oracle give the same answer to every custom question, whole."""

from hypothesis import given
from hypothesis import strategies as st

from query.custom.aggregates import BY_NAME
from tests.oracle.custom import AGGREGATES, CustomQuestion, answer
from tests.oracle.custom_query_strategies import free_questions
from tests.oracle.fixed_traffic import town
from tests.oracle.hypothesis_profile import tried
from tests.oracle.random_traffic import STAGES, Stage, Traffic, stages, traffic
from tests.oracle.service import Service


def test_every_aggregate_has_an_oracle() -> None:
    assert set(AGGREGATES) == set(BY_NAME)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Traffic, list[CustomQuestion]]:
    """What is stored, and what is asked of it."""
    stage = draw(stages)
    stored = draw(traffic(stage))
    return stored, draw(st.lists(free_questions(stage), min_size=10, max_size=20))


@tried(8)
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


@st.composite
def town_scenes(draw: st.DrawFn) -> tuple[Stage, list[CustomQuestion]]:
    """Where there is a town, and what is asked of it."""
    stage = draw(st.sampled_from(STAGES[:4]))
    return stage, draw(st.lists(free_questions(stage), min_size=25, max_size=25))


@tried(4)
@given(town_scenes())
def test_the_service_agrees_with_the_oracle_about_a_town(
    scene: tuple[Stage, list[CustomQuestion]],
) -> None:
    stage, asked = scene
    with Service(town(stage)) as service:
        for question in asked:
            reply = service.post("/v1/query/custom", question.body, question.subject)

            assert reply.status == 200, (question, reply.json)
            assert reply.json["data"] == answer(service.facts, question), question
