"""Service and oracle return the same results over fixed traffic, where groups have members."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from operator import itemgetter
from typing import Any

import msgspec
import pytest

from schemas.kinds import TABLES
from schemas.tables import IMPORTED_TOTALS
from tests.oracle.comparison import COMPARABLE, comparison
from tests.oracle.filters import FilterJson, fields_of
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.oracles import expected_result
from tests.oracle.query import NAMES, StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.random_traffic import STAGES, Stage, parameters
from tests.oracle.service import Service, every_type
from tests.query.lake import imported

PLAYED = STAGES[:3]
"""At this moment in two zones, and on a day of 25 hours."""

GERMAN: FilterJson = {"field": "country", "operator": "eq", "value": "DE"}
ALL_GERMAN = {table.name: () if table is IMPORTED_TOTALS else (GERMAN,) for table in TABLES}
"""The filter of each table; imported totals have none."""

SEARCHED: FilterJson = {
    "field": "visit.channel",
    "operator": "eq",
    "value": "Organic Search",
}
BEGUN: FilterJson = {"field": "visit.entry_page", "operator": "in", "value": ["/", "/a"]}
LEFT: FilterJson = {"field": "visit.exit_page", "operator": "ne", "value": "/a"}
SEEN: FilterJson = {"field": "path", "operator": "eq", "value": "/a"}
VISIT_FILTERS: Sequence[Sequence[FilterJson]] = ([SEARCHED], [SEEN], [BEGUN, LEFT, SEEN])
"""Filters on facts of the visit, on facts of the row, and on both."""
PATH_FILTERS: Sequence[FilterJson] = (
    {"field": "path_group", "operator": "in", "value": ["Letters", "Start"]},
    {"field": "folder", "operator": "ne", "value": "/"},
)

STEPS = [{"path": "/"}, {"path": "/a"}, {"event": "signup"}]

OPTIONS: Sequence[Mapping[str, Any]] = (
    {
        "funnel": {"steps": STEPS, "window": 900, "by": "visitor"},
        "funnel_trend": {"steps": STEPS[:2]},
        "goals": {"goals": [*STEPS, {"event": "signup", "value": "properties.price"}]},
        "paths": {"max_steps": 3, "from": "/"},
        "retention": {"period": "day"},
        "stickiness": {"period": "day"},
        "lifecycle": {"period": "day"},
        "attribution": {"goal": STEPS[2]},
        "time_to_convert": {"goal": STEPS[2]},
        "visitors": {"of": {"name": "funnel", "steps": STEPS, "step": 2, "outcome": "dropped"}},
    },
    {
        "funnel": {
            "steps": STEPS[:2],
            "window": 36_000,
            "by": "session",
            "exclusions": [{"path": "/pricing"}, {"event": "page_exit"}],
        },
        "funnel_trend": {"steps": STEPS[:2], "window": 3_600, "by": "session"},
        "goals": {"goals": [{"path": "/pricing", "filters": [GERMAN]}]},
        "paths": {"max_steps": 5, "to": "/a"},
        "retention": {
            "period": "week",
            "cohort": "first_in_range",
            "start": STEPS[1],
            "returning": STEPS[2],
        },
        "stickiness": {"period": "week"},
        "lifecycle": {"period": "week"},
        "attribution": {
            "goal": {**STEPS[1], "value": "properties.seats"},
            "model": "linear",
            "window_days": 2,
        },
        "time_to_convert": {"goal": {**STEPS[1], "filters": [GERMAN]}},
        "visitors": {"of": {"name": "paths", "path": "/ → /a", "max_steps": 2}},
    },
    {
        "funnel": {
            "steps": STEPS,
            "order": "strict",
            "breakdown": "channel",
            "breakdown_limit": 2,
        },
        "funnel_trend": {"steps": STEPS, "window": 36_000, "order": "strict"},
        "goals": {
            "goals": [*STEPS, {"path": "/a", "value": "properties.price"}],
            "breakdown": "properties.plan",
            "breakdown_limit": 2,
        },
        "paths": {"max_steps": 3, "breakdown": "visit.device_type"},
        "retention": {
            "period": "day",
            "returning": STEPS[0],
            "breakdown": "path",
            "breakdown_limit": 3,
        },
        "stickiness": {"period": "month"},
        "lifecycle": {"period": "month"},
        "attribution": {"goal": STEPS[1], "model": "position_based", "by": "visit.entry_page"},
        "time_to_convert": {"goal": STEPS[1]},
        "visitors": {
            "of": {
                "name": "goals",
                "goals": STEPS,
                "goal": "signup",
                "attribution": "first_touch",
                "breakdown": "channel",
                "breakdown_limit": 1,
                "group": {"other": True},
            }
        },
    },
)


def framed(stage: Stage) -> Iterator[QueryFrame]:
    """Three days whole and by hours; the day itself without programs; one country, by pages."""
    before, after = stage.day - timedelta(days=1), stage.day + timedelta(days=1)
    hours = StandardQuery(
        name="",
        start=before,
        end=after,
        zone=stage.zone,
        granularity="hourly",
        include_bots=True,
        limit=1_000,
    )
    the_day = StandardQuery(name="", start=stage.day, end=stage.day, zone=stage.zone)
    page = StandardQuery(name="", start=before, end=after, zone=stage.zone, limit=3)
    yield QueryFrame(hours, {table.name: () for table in TABLES}, OPTIONS[0])
    yield QueryFrame(the_day, {table.name: () for table in TABLES}, OPTIONS[1])
    yield QueryFrame(page, ALL_GERMAN, OPTIONS[1])
    yield QueryFrame(hours, {table.name: () for table in TABLES}, OPTIONS[2])


@pytest.mark.long
@pytest.mark.parametrize("stage", parameters(PLAYED))
def test_the_service_agrees_with_the_oracle_about_a_town(stage: Stage) -> None:
    with Service(fixed_traffic(stage)) as service:
        for frame in framed(stage):
            queries = every_type(frame)
            results = service.results(queries)
            for query, found in zip(queries, results, strict=True):
                assert found == expected_result(service.facts, query), query


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param(VISIT_FILTERS[0], marks=pytest.mark.long, id="visits"),
        pytest.param(VISIT_FILTERS[1], marks=pytest.mark.long, id="rows"),
        pytest.param(VISIT_FILTERS[2], id="both"),
        pytest.param(PATH_FILTERS, marks=pytest.mark.long, id="paths"),
    ],
)
def test_the_service_agrees_with_the_oracle_about_some_visits(
    filters: Sequence[FilterJson],
) -> None:
    """On one day, on which visits of the days before go on."""
    stage = PLAYED[0]
    the_day = StandardQuery(name="", start=stage.day, end=stage.day, zone=stage.zone)
    known = {
        table.name: tuple(each for each in filters if fields_of(each) <= NAMES[table.name])
        for table in TABLES
    }
    with Service(fixed_traffic(stage)) as service:
        queries = every_type(QueryFrame(the_day, known, OPTIONS[0]))
        for query, found in zip(queries, service.results(queries), strict=True):
            assert found == expected_result(service.facts, query), query


@pytest.mark.parametrize(
    ("options", "granularities"),
    [
        pytest.param(OPTIONS[0], ("daily", "hourly"), marks=pytest.mark.long),
        pytest.param(OPTIONS[2], ("daily",), marks=pytest.mark.long),
    ],
)
def test_rows_are_held_against_those_of_the_days_before(
    options: Mapping[str, Any], granularities: Sequence[str]
) -> None:
    stage = PLAYED[1]
    with Service(fixed_traffic(stage)) as service:
        for granularity in granularities:
            frame = QueryFrame(
                StandardQuery(
                    name="",
                    start=stage.day,
                    end=stage.day,
                    zone=stage.zone,
                    granularity=granularity,
                    limit=20,
                    compare="previous_period",
                ),
                {table.name: () for table in TABLES},
                options,
            )
            comparable = [each for each in every_type(frame) if each.name in COMPARABLE]
            for query, entry in zip(comparable, service.entries(comparable), strict=True):
                expected = comparison(service.facts, query, entry["data"])
                for one, other in zip(entry["comparison"]["rows"], expected["rows"], strict=True):
                    assert one == other, query
                assert entry["comparison"] == expected, query


@pytest.mark.long
def test_rows_come_in_the_asked_order() -> None:
    """Absent values last; rows of one value in the order of the type itself."""
    stage = PLAYED[0]
    frame = next(framed(stage))
    day = f"{stage.day}"
    totals = imported(
        day, visitors=5, visits=6, page_views=9, bounces=2, events=3, visit_seconds=60
    )
    with Service([*fixed_traffic(stage), totals]) as service:
        for query in every_type(frame):
            rows = expected_result(service.facts, msgspec.structs.replace(query, limit=10_000))
            assert rows, query.name  # a type without rows would prove nothing here
            column = [name for name, value in rows[0].items() if not isinstance(value, list)][-1]
            for direction in ("asc", "desc"):
                order = [{"field": column, "direction": direction}]
                there = [row for row in rows if row[column] is not None]
                absent = [row for row in rows if row[column] is None]
                there.sort(key=itemgetter(column), reverse=direction == "desc")
                found = service.result(msgspec.structs.replace(query, order_by=order, limit=7))
                assert found == [*there, *absent][:7], (query.name, order)
