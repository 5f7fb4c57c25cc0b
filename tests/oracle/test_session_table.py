"""The table of sessions is the same from prepared sessions and from events, whatever happened."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from schemas.tables import EVENTS, SESSIONS
from tests.oracle.custom import CustomQuery, expected_result
from tests.oracle.custom_query_strategies import custom_queries
from tests.oracle.derived_files import data_files, prepare, remove
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.random_traffic import STAGES, Stage, Traffic, stages, traffic
from tests.oracle.service import Service
from tests.oracle.test_invariants import compacted

Scene = tuple[Traffic, Traffic, list[CustomQuery]]


def queries_of(stage: Stage) -> st.SearchStrategy[list[CustomQuery]]:
    return st.lists(custom_queries(stage, ("sessions",)), min_size=15, max_size=15)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Stored traffic, what comes later, and queries about its sessions."""
    stage = draw(stages)
    return draw(traffic(stage)), draw(traffic(stage)), draw(queries_of(stage))


def results(service: Service, queries: Sequence[CustomQuery]) -> list[object]:
    """The rows that answer each query."""
    replies = [service.post("/v1/query/custom", each.body, each.subject) for each in queries]
    assert {reply.status for reply in replies} == {200}, [reply.json for reply in replies]
    return [reply.json["data"] for reply in replies]


@try_examples(2)
@given(scenes())
def test_prepared_sessions_change_no_result(scene: Scene) -> None:
    stored, late, queries = scene
    with Service(stored, portions=3) as service:
        before = [expected_result(service.facts, each) for each in queries]
        prepare(service, SESSIONS)
        assert results(service, queries) == before

        compacted(service)
        assert results(service, queries) == before

        prepare(service, SESSIONS)
        assert results(service, queries) == before

        old_files = data_files(service)
        service.lake.holds(*(row for row in late if row.table is EVENTS))
        with_late = results(service, queries)
        prepare(service, SESSIONS)
        assert results(service, queries) == with_late

        remove(service, data_files(service) - old_files)
        assert results(service, queries) == before


@st.composite
def fixed_scenes(draw: st.DrawFn) -> tuple[Stage, list[CustomQuery]]:
    """A stage with fixed traffic, and queries about its sessions."""
    stage = draw(st.sampled_from(STAGES[:4]))
    return stage, draw(queries_of(stage))


@try_examples(4)
@given(fixed_scenes())
def test_prepared_sessions_of_a_town(scene: tuple[Stage, list[CustomQuery]]) -> None:
    stage, queries = scene
    with Service(fixed_traffic(stage), portions=2) as service:
        prepare(service, SESSIONS)
        for query, found in zip(queries, results(service, queries), strict=True):
            assert found == expected_result(service.facts, query), query
