"""Prepared results of the visits that filters on their facts keep are those of the stored rows."""

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.prepared import index_store
from query.prepared.quarter_hours import BucketPlan, NewVisitorPlan
from query.prepared.rollup_tables import ATTRIBUTES
from query.prepared.session_filters import FACT_BY_FIELD, SESSION_TABLES
from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from schemas.tables import EVENTS
from tests.oracle.filters import FilterJson
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.oracles import expected_result
from tests.oracle.query import StandardQuery
from tests.oracle.random_traffic import (
    STAGES,
    Stage,
    Traffic,
    parameters,
    scenes_with_late_rows,
)
from tests.oracle.service import Service, named
from tests.oracle.test_prepared_results import CLOSED, TYPES, asked, prepare, were_prepared
from tests.query.lake import a_view

NOT_OF_SESSIONS = frozenset({"paths", "vitals_overview"})
"""Some types whose parts have no sessions that a filter could choose."""
OF_FACTS = frozenset(
    query_type.name
    for query_type in QUERY_TYPES.values()
    if (form := query_type.rollup_plan(query_type.example)) and {*form.tables} == {"facts"}
)
OF_SESSIONS = frozenset(
    query_type.name
    for query_type in QUERY_TYPES.values()
    if (form := query_type.rollup_plan(query_type.example)) and {*form.tables} <= SESSION_TABLES
)
OF_BUCKETS = frozenset(
    query_type.name
    for query_type in QUERY_TYPES.values()
    if isinstance(query_type.rollup_plan(query_type.example), BucketPlan)
)
AFTER_EARLIER = frozenset(
    query_type.name
    for query_type in QUERY_TYPES.values()
    if isinstance(query_type.rollup_plan(query_type.example), NewVisitorPlan)
)
"""Types whose filtered rows do not tell who is new."""


def condition(field: str, operator: str, value: object = None) -> FilterJson:
    return {"field": field, "operator": operator, **({} if value is None else {"value": value})}


FILTERS: Mapping[str, list[FilterJson]] = {
    "a channel": [condition("channel", "eq", "Direct")],
    "another": [condition("visit.channel", "ne", "Direct")],
    "no campaign": [condition("utm_campaign", "is_null")],
    "a source and an entry page": [
        condition("utm_source", "is_not_null"),
        condition("visit.entry_page", "starts_with", "/"),
    ],
    "one of two": [
        {
            "or": [
                condition("visit.device_type", "eq", "mobile"),
                condition("visit.exit_page", "contains", "a"),
            ]
        }
    ],
    "none": [{"not": condition("visit.browser_name", "is_not_null")}],
    "nothing": [condition("referrer", "eq", "nowhere")],
}


def filtered(
    stage: Stage,
    filters: list[FilterJson],
    names: Set[str] = OF_SESSIONS,
    granularity: Granularity = Granularity.DAILY,
) -> list[StandardQuery]:
    """These types, about the day and two days before it."""
    by_name = {each.name: each for each in asked(stage, (granularity,))[: len(TYPES)]}
    start = stage.day - timedelta(days=2)
    return [
        msgspec.structs.replace(query, start=start, filters=filters)
        for name, query in by_name.items()
        if name in names
    ]


def visits(stage: Stage, without: str | None = "") -> Traffic:
    """The rows that belong to a session, and those without one of a visitor, if one is named."""
    return Traffic(
        each
        for each in fixed_traffic(stage)
        if each.values.get("session_id") or without in ("", each.values.get("anonymous_id"))
    )


@pytest.mark.parametrize(
    ("stage", "without", "prepared"),
    [
        (CLOSED[0], None, 1.5),
        pytest.param(CLOSED[1], None, 1.5, marks=pytest.mark.long),
        pytest.param(CLOSED[0], "u1", 3, marks=pytest.mark.long),
        pytest.param(CLOSED[0], "", 20, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_filters_on_facts_of_the_visit(stage: Stage, without: str | None, prepared: float) -> None:
    with Service(visits(stage, without), portions=2) as service:
        queries = [each for filters in FILTERS.values() for each in filtered(stage, filters)]
        service.results(queries)
        prepare(service)

        found = were_prepared(service, queries)

        assert sum(found) >= len(found) / prepared
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query


ROW_FILTERS: Sequence[list[FilterJson]] = (
    [condition("country", "eq", "DE")],
    [condition("city", "is_not_null"), condition("browser_name", "ne", "Chrome")],
    [{"or": [condition("os_name", "is_null"), condition("language", "starts_with", "d")]}],
    [condition("device_type", "eq", "mobile"), condition("channel", "eq", "Direct")],
    [condition("timezone", "eq", "nowhere")],
)
"""Filters on places and devices of page views."""


def of_one_place(traffic: Traffic) -> Traffic:
    """The same with the places and devices of the first row of each session."""
    first: dict[object, dict[str, object]] = {}
    rows = []
    for row in traffic:
        own = {name: row.values.get(name) for name in ATTRIBUTES}
        same = first.setdefault(row.values.get("session_id"), own)
        rows.append(msgspec.structs.replace(row, values={**row.values, **same}))
    return Traffic(rows)


@pytest.mark.parametrize("stage", parameters(CLOSED[:2]))
def test_filters_on_places_and_devices(stage: Stage) -> None:
    with Service(visits(stage, None), portions=2) as service:
        queries = [each for filters in ROW_FILTERS for each in filtered(stage, filters, OF_FACTS)]
        service.results(queries)
        prepare(service)

        assert all(were_prepared(service, queries))
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query


def of_changing_places(traffic: Traffic) -> Traffic:
    """The same, in which every second row has the places and devices of some other row."""
    rows = [*traffic]
    others = [rows[i * 7 % len(rows)] if i % 2 else rows[i] for i in range(len(rows))]
    return Traffic(
        msgspec.structs.replace(
            row,
            values={**row.values, **{n: other.values.get(n) for n in ATTRIBUTES}},
        )
        for row, other in zip(rows, others, strict=True)
    )


@pytest.mark.parametrize("changed", [of_one_place, of_changing_places])
@pytest.mark.parametrize("stage", parameters(CLOSED[:2]))
def test_sessions_of_one_place_and_device_and_of_many(
    stage: Stage, changed: Callable[[Traffic], Traffic]
) -> None:
    names = OF_SESSIONS - AFTER_EARLIER
    with Service(changed(visits(stage, None)), portions=2) as service:
        queries = [each for filters in ROW_FILTERS for each in filtered(stage, filters, names)]
        for filters in ROW_FILTERS:  # hours have sessions none of whose rows in them is kept
            queries += filtered(stage, filters, names & OF_BUCKETS, Granularity.HOURLY)
        service.results(queries)
        prepare(service)

        assert all(were_prepared(service, queries))
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query


@pytest.mark.parametrize(
    ("stage", "without"), [(CLOSED[0], None), (CLOSED[0], ""), (CLOSED[1], "")], ids=str
)
def test_sessions_and_visitors_of_several_places(stage: Stage, without: str | None) -> None:
    with Service(visits(stage, without), portions=2) as service:
        queries = [each for filters in ROW_FILTERS for each in filtered(stage, filters)]
        service.results(queries)
        prepare(service)

        found = were_prepared(service, queries)
        read = {query.name for query, made in zip(queries, found, strict=True) if not made}
        assert read == AFTER_EARLIER == {"lifecycle", "retention"} or stage is not CLOSED[0]
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query


@try_examples(3)
@given(scenes_with_late_rows(), st.sampled_from([*FILTERS.values(), *ROW_FILTERS]))
def test_late_rows_count_in_them(
    scene: tuple[Stage, Traffic, Traffic], filters: list[FilterJson]
) -> None:
    stage, stored, late = scene
    queries = filtered(stage, filters)
    with Service(stored, portions=3) as service:
        service.results(queries)
        prepare(service)
        service.lake.holds(*(row for row in late if row.table is EVENTS))
        for _ in range(2):
            rows = service.results(queries)
            for query, own in zip(queries, rows, strict=True):
                [stored_rows] = service.ask(query, [named(query)], "&prepared=false")
                assert own == stored_rows["data"], query
            prepare(service)


def test_types_without_sessions_read_stored_rows() -> None:
    stage = STAGES[0]
    with Service(fixed_traffic(stage)) as service:
        queries = filtered(stage, FILTERS["a channel"], NOT_OF_SESSIONS)
        service.results(queries)
        prepare(service)
        assert len(queries) == len(NOT_OF_SESSIONS)
        assert not any(were_prepared(service, queries))


def test_every_fact_can_be_filtered_by() -> None:
    stage = STAGES[0]
    with Service(fixed_traffic(stage), portions=2) as service:
        [plain] = filtered(stage, [], {"top_pages"})
        queries = [
            msgspec.structs.replace(plain, filters=[condition(field, "is_not_null")])
            for field in FACT_BY_FIELD
        ]
        service.results(queries)
        prepare(service)
        for query, rows in zip(queries, service.results(queries), strict=True):
            assert rows == expected_result(service.facts, query), query


@pytest.mark.parametrize(
    "filters",
    [
        [condition("country", "eq", "DE")],
        [condition("country", "eq", "DE"), condition("host", "is_null")],
        [condition("channel", "is_null"), condition("visit.entry_page", "eq", "/a")],
    ],
    ids=str,
)
def test_an_index_serves_ranges_without_the_sessions_of_today(
    filters: list[FilterJson], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = [
        a_view("/a", at=f"2026-11-{day}T12:00:00Z", country="DE", session=f"s{day}")
        for day in range(25, 30)
    ]
    today = a_view("/a", at="2026-11-30T00:10:00Z", country="DE", session="new")
    query = StandardQuery(
        name="session_pages", start=date(2026, 11, 25), end=date(2026, 11, 30), filters=filters
    )
    queries = [msgspec.structs.replace(query, end=query.end - timedelta(days=n)) for n in range(4)]
    with Service([*closed, today]) as service:
        monkeypatch.setattr(index_store, "FEW_ROLLUPS", 0)
        service.results(queries[1:])
        prepare(service)

        assert [rows[0]["sessions"] for rows in service.results(queries)] == [6, 5, 4, 3]
        assert all(were_prepared(service, queries))
