"""Pages of lists of random traffic are the same with and without parts, and those of the oracle.

Ranges cut visitors that come back on another day, and sessions that go on over midnight.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.standard.query_types import QUERY_TYPES
from schemas.kinds import TABLES
from schemas.tables import EVENTS
from schemas.telemetry.instruments import LIST_PAGES
from tests.oracle.filters import FilterJson
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.oracles import expected_result
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.random_traffic import STAGES, Stage, Traffic, scenes_with_late_rows
from tests.oracle.service import Service, named
from tests.oracle.test_prepared_results import frames_around, prepare
from tests.oracle.test_prepared_sessions import orders
from tests.oracle.test_prepared_visit_filters import FILTERS, visits

LISTS = tuple(
    t.name for t in QUERY_TYPES.values() if t.listing.page_keys and t.listing.page_keys.prepared
)

ENDED = st.sampled_from((STAGES[0], STAGES[2]))
"""Stages whose day has ended."""


def lists_of(stage: Stage) -> list[StandardQuery]:
    """Every list, about the day of the stage and the days around it."""
    everything = {table.name: () for table in TABLES}
    return [
        QueryFrame(frame, everything, {}).of(name, EVENTS.name, "shop")
        for frame in frames_around(stage)
        for name in LISTS
    ]


@try_examples(2)
@given(scenes_with_late_rows(ENDED))
def test_pages_of_lists_are_those_of_the_stored_rows(
    scene: tuple[Stage, Traffic, Traffic],
) -> None:
    stage, stored, late = scene
    plain = lists_of(stage)
    ordered = [
        msgspec.structs.replace(query, limit=2, order_by=[{"field": f, "direction": direction}])
        for query in plain[: len(LISTS)]
        for f in orders(QUERY_TYPES[query.name])
        for direction in ("asc", "desc")
    ]
    with Service(stored, portions=3) as service:
        service.results(plain)
        prepare(service)
        check(service, plain, ordered)

        service.lake.holds(*(row for row in late if row.table is EVENTS))
        check(service, plain[: len(LISTS)], ordered)


def check(service: Service, plain: list[StandardQuery], ordered: list[StandardQuery]) -> None:
    """Assert that the pages, in their own and in other orders, are those of the stored rows."""
    for query in [*plain, *ordered]:
        [found] = service.entries([query])
        [raw] = service.ask(query, [named(query)], "&prepared=false")
        assert found == raw, query


def test_lists_of_the_oracle_are_found_by_parts() -> None:
    stage = STAGES[2]
    counter = LIST_PAGES.labels("prepared")
    with Service(fixed_traffic(stage), portions=2) as service:
        queries = lists_of(stage)
        service.results(queries)
        prepare(service)
        before = counter._value.get()

        for query, found in zip(queries, service.results(queries), strict=True):
            assert found == expected_result(service.facts, query), query
        assert counter._value.get() - before == len(queries)


@pytest.mark.parametrize("filters", list(FILTERS.values())[:4], ids=list(FILTERS)[:4])
def test_lists_of_the_visits_that_filters_keep_are_found_by_parts(
    filters: list[FilterJson],
) -> None:
    stage = STAGES[2]
    counter = LIST_PAGES.labels("prepared")
    with Service(visits(stage, None), portions=2) as service:
        queries = [msgspec.structs.replace(q, filters=filters) for q in lists_of(stage)]
        service.results(queries)
        prepare(service)
        before = counter._value.get()

        check(service, queries, [])

        assert counter._value.get() - before == len(queries)
