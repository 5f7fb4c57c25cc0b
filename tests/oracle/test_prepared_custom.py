"""Custom queries that count give the same from prepared results as from stored rows."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.custom.tables import CUSTOM_TABLES
from query.prepared.rollup_tables import ATTRIBUTES, DEVICES, EVENT_LABELS, SOURCES
from schemas.tables import EVENTS
from tests.oracle.custom import DATE_PARTS, CustomQuery, alias, expected_result, output_name
from tests.oracle.custom_query_strategies import BUCKETS, havings, orders
from tests.oracle.filters import FilterJson
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.query_strategies import filters_of_columns, grouped_filters
from tests.oracle.random_traffic import Stage, Traffic, scenes_with_late_rows
from tests.oracle.service import Service
from tests.oracle.test_prepared_results import CLOSED, prepare
from tests.oracle.test_prepared_visit_filters import condition, of_one_place, visits
from tests.oracle.traffic_values import NAMES

VISIT_COLUMNS = tuple(f"visit.{fact}" for fact in (*SOURCES, *DEVICES, "entry_page", "exit_page"))
COLUMNS = (*ATTRIBUTES, "channel", "utm_source", *VISIT_COLUMNS)
"""Columns that parts may tell of all rows."""
VIEWS: list[FilterJson] = [
    condition("name", "in", ["screen_view", "pageview"]),
    condition("name", "eq", "screen_view"),
    condition("name", "eq", "pageview"),
]
EVENTS_OF_NAMES: list[FilterJson] = [
    condition("name", "not_in", ["screen_view", "pageview", "page_exit", NAMES[2]]),
    condition("outbound_domain", "ends_with", "example"),
    {"or": [condition("name", "eq", NAMES[0]), condition("name", "in", [*NAMES[2:]])]},
    condition("name", "eq", NAMES[0]),
    condition("name", "in", [*NAMES[1:]]),
]
SELECTS = [
    {"aggregate": "count", "field": "*"},
    *(
        {"aggregate": aggregate, "field": field}
        for aggregate in ("count", "uniq")
        for field in ("anonymous_id", "session_id", "country")
    ),
]


@st.composite
def counting_queries(draw: st.DrawFn, stage: Stage) -> CustomQuery:
    """A query that counts events of one kind, of several, or of all."""
    kind = draw(st.sampled_from(("all", "views", "others", "outbound")))
    columns: Sequence[str] = COLUMNS
    filters: list[FilterJson] = []
    table = "events"
    if kind == "views":
        columns, filters = (*COLUMNS, "path"), [draw(st.sampled_from(VIEWS))]
    elif kind == "others":
        columns, filters = (*COLUMNS, *EVENT_LABELS), [draw(st.sampled_from(EVENTS_OF_NAMES))]
    elif kind == "outbound":
        table, columns = "outbound", (*COLUMNS, "path", "domain", "href", "text")
    known = [c for c in CUSTOM_TABLES[table].columns if c.name in columns]
    filters += draw(st.lists(grouped_filters(filters_of_columns(known)), max_size=2))
    selects = draw(st.lists(st.sampled_from(SELECTS), min_size=1, max_size=3, unique_by=alias))
    groups = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    groups += draw(st.lists(st.sampled_from((*BUCKETS, *sorted(DATE_PARTS))), max_size=1))
    outputs = [output_name(name) for name in groups]
    start = stage.day - timedelta(days=draw(st.integers(1, 2)))
    return CustomQuery(
        table=table,
        selects=selects,
        start=start,
        end=stage.day,
        filters=filters,
        group_by=groups,
        having=draw(havings(selects)),
        order_by=draw(orders([*outputs, *map(alias, selects)])),
        zone=draw(st.sampled_from((stage.zone, "UTC", "Asia/Kolkata"))),
        limit=draw(st.sampled_from((None, None, 1, 3))),
        page=draw(st.sampled_from((1, 1, 2))),
    )


def ask(service: Service, query: CustomQuery, more: str = "") -> Any:
    """The answer to a query."""
    reply = service.post("/v1/query/custom", query.body, query.subject, more)
    assert reply.status == 200, (query, reply.json)
    return reply.json


def check(service: Service, query: CustomQuery) -> bool:
    """Whether a query is prepared; its rows are those of the oracle and of stored rows."""
    found, stored = ask(service, query), ask(service, query, "&prepared=false")
    assert found["data"] == expected_result(service.facts, query), query
    assert found["data"] == stored["data"], query
    assert found["meta"]["totalRows"] == stored["meta"]["totalRows"], query
    assert "prepared" not in stored["meta"]
    return "prepared" in found["meta"]


def of_sessions(stage: Stage) -> Traffic:
    """Rows of sessions, some of which have several places and devices."""
    return visits(stage, None)


def of_sessions_of_one_place(stage: Stage) -> Traffic:
    return of_one_place(visits(stage, None))


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Stage, list[CustomQuery]]:
    """A stage, and queries about its day."""
    stage = draw(st.sampled_from(CLOSED[:2]))
    return stage, draw(st.lists(counting_queries(stage), min_size=40, max_size=40))


@try_examples(3)
@given(scenes(), st.sampled_from((fixed_traffic, of_sessions, of_sessions_of_one_place)))
def test_counts_of_any_traffic(
    scene: tuple[Stage, list[CustomQuery]], traffic: Callable[[Stage], Traffic]
) -> None:
    stage, queries = scene
    with Service(traffic(stage), portions=2) as service:
        for query in queries:
            ask(service, query)
        prepare(service)

        found = [check(service, query) for query in queries]

        assert all(found) or traffic is fixed_traffic


@try_examples(3)
@given(scenes_with_late_rows(), st.data())
def test_rows_without_a_part_count(
    scene: tuple[Stage, Traffic, Traffic], data: st.DataObject
) -> None:
    stage, stored, late = scene
    queries = data.draw(st.lists(counting_queries(stage), min_size=15, max_size=15))
    with Service(stored, portions=3) as service:
        for query in queries:
            ask(service, query)
        prepare(service)
        service.lake.holds(*(row for row in late if row.table is EVENTS))
        for _ in range(2):
            for query in queries:
                found, raw = ask(service, query), ask(service, query, "&prepared=false")
                assert found["data"] == raw["data"], query
                assert found["meta"]["totalRows"] == raw["meta"]["totalRows"], query
            prepare(service)


def plain(stage: Stage, **more: Any) -> CustomQuery:
    """A count of all events of the day and two days before it."""
    query = CustomQuery(
        table="events",
        selects=[{"aggregate": "count", "field": "*"}],
        start=stage.day - timedelta(days=2),
        end=stage.day,
    )
    return msgspec.structs.replace(query, **more)


@pytest.mark.parametrize(
    "more",
    [
        {"group_by": ["title"]},
        {"filters": [condition("name", "in", ["screen_view", NAMES[0]])]},
        {"subject": "shop,blog"},
        *(
            pytest.param(more, marks=pytest.mark.long)
            for more in (
                {"selects": [{"aggregate": "max", "field": "scroll_depth"}]},
                {"group_by": ["path"]},
                {"group_by": ["name"]},
                {"filters": [condition("name", "eq", "page_exit")]},
                {"filters": [condition("name", "ne", "screen_view")]},
                {"filters": [condition("event.channel", "eq", "Direct")]},
                {"filters": [{"has_done": {"event": NAMES[0]}}]},
                {"group_by": ["time:minute"]},
                {"table": "sessions"},
                {"include_bots": True},
            )
        ),
    ],
    ids=str,
)
def test_other_queries_read_stored_rows(more: dict[str, Any]) -> None:
    stage = CLOSED[0]
    with Service(of_one_place(visits(stage, None)), portions=2) as service:
        ask(service, plain(stage))
        prepare(service)
        assert check(service, plain(stage))

        query = plain(stage, **more)

        assert "prepared" not in ask(service, query)["meta"]
