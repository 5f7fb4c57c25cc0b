"""What filters on visits keep agrees with sums and lists that are made without them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query.standard.query_types import QUERY_TYPES
from tests.oracle.aggregates import ResultRow, median, percent, rounded
from tests.oracle.custom import CustomQuery
from tests.oracle.filters import FilterJson
from tests.oracle.hypothesis_profile import try_examples
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame, plain
from tests.oracle.random_traffic import Traffic, stages, traffic
from tests.oracle.service import Service
from tests.oracle.traffic_values import CAMPAIGNS, PATHS, SOURCES
from tests.query.lake import a_view, an_event

Scene = tuple[Traffic, QueryFrame]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Stored traffic, and the days around it."""
    stage = draw(stages)
    return draw(traffic(stage)), draw(plain(stage, ("daily",)))


def values_of(field: str, values: Sequence[Any]) -> list[FilterJson]:
    """A filter for each value, and one for its absence: together they keep everything once."""
    there = sorted({value for value in values if value is not None})
    filters = [{"field": field, "operator": "eq", "value": value} for value in there]
    return [*filters, {"field": field, "operator": "is_null"}]


CHANNELS = values_of("visit.channel", [source["channel"] for source in SOURCES])
CAMPAIGN_FILTERS = values_of("utm_campaign", [each.get("utm_campaign") for each in CAMPAIGNS])


def asked(service: Service, frame: QueryFrame, name: str, *filters: FilterJson) -> list[ResultRow]:
    """The answer about everything that the filters keep."""
    query = frame.of(name, QUERY_TYPES[name].table.name, "shop")
    fields = {field: getattr(query, field) for field in StandardQuery.__struct_fields__}
    return service.result(StandardQuery(**fields | {"filters": filters}))


@try_examples(4)
@given(scenes())
def test_the_visits_of_all_channels_are_all_visits(scene: Scene) -> None:
    stored, frame = scene
    with Service(stored) as service:
        [everything] = asked(service, frame, "summary")
        parts = [asked(service, frame, "summary", each)[0] for each in CHANNELS]

    for metric in ("sessions", "pageviews", "total_events"):
        assert sum(part[metric] for part in parts) == everything[metric]


@try_examples(4)
@given(scenes())
def test_conversions_of_all_campaigns_are_all_conversions(scene: Scene) -> None:
    stored, frame = scene
    with Service(stored) as service:
        everything = asked(service, frame, "goals")
        parts = [asked(service, frame, "goals", each) for each in CAMPAIGN_FILTERS]

    for goal, *shares in zip(everything, *parts, strict=True):
        assert sum(share["conversions"] for share in shares) == goal["conversions"]
        assert sum(share["sessions"] for share in shares) == goal["sessions"]


@try_examples(4)
@given(scenes())
def test_visits_keep_their_duration_and_bounce_under_a_filter(scene: Scene) -> None:
    """As the computed table of sessions has them, which is read without that filter."""
    stored, frame = scene
    with Service(stored) as service:
        lasted = session_table(service, frame)
        for each in CHANNELS:
            [summary] = asked(service, frame, "summary", each)
            ids = [row["session_id"] for row in asked(service, frame, "session_list", each)]
            held = [lasted[session] for session in ids]

            assert summary["sessions"] == len(held)
            assert summary["bounce_rate"] == percent(sum(b for _, b in held), len(held))
            middle = median([duration for duration, _ in held]) / 1000
            assert summary["median_session_duration"] == rounded(middle)


def session_table(service: Service, frame: QueryFrame) -> dict[str, tuple[int, bool]]:
    """Duration in milliseconds and bounce of each session."""
    query = CustomQuery(
        table="sessions",
        selects=[{"aggregate": "max", "field": "duration"}],
        group_by=["session_id", "is_bounce"],
        start=frame.query.start,
        end=frame.query.end,
        zone=frame.query.zone,
        include_bots=True,
    )
    reply = service.post("/v1/query/custom", query.body, query.subject)
    assert reply.status == 200, reply.json
    return {
        row["session_id"]: (round(row["max_duration"] * 1000), row["is_bounce"])
        for row in reply.json["data"]
    }


@try_examples(4)
@given(scenes())
def test_entry_pages_are_those_of_the_visits_that_began_there(scene: Scene) -> None:
    stored, frame = scene
    with Service(stored) as service:
        for channel in CHANNELS:
            pages = asked(service, frame, "entry_pages", channel)
            entries = {row["name"]: row["pageviews"] for row in pages}
            for path in sorted({path for path in PATHS if path is not None}):
                here = {"field": "visit.entry_page", "operator": "eq", "value": path}
                [summary] = asked(service, frame, "summary", channel, here)
                assert summary["sessions"] == entries.get(path, 0)


@pytest.mark.parametrize(
    ("include_bots", "views"), [(False, {"Direct": 1}), (True, {"Organic Search": 2})]
)
def test_page_views_of_bots_say_nothing_about_a_visit_unless_they_count(
    include_bots: bool, views: dict[str, int]
) -> None:
    crawled = a_view(at="2026-11-10T10:00:00Z", channel="Organic Search", is_bot=True)
    viewed = a_view(at="2026-11-10T10:01:00Z", channel="Direct")
    body = {"parameters": ["channels"], "startDate": "2026-11-10", "endDate": "2026-11-10"}
    with Service([crawled, viewed]) as service:
        reply = service.post("/v1/query", {**body, "include_bots": include_bots}, "shop")

    rows = reply.json["data"][0]["data"]
    assert {row["name"]: row["pageviews"] for row in rows} == views


def test_an_event_before_the_first_page_view_says_nothing_about_its_visit() -> None:
    early = an_event("signup", at="2026-11-10T10:00:00Z", channel="Email", path="/mail")
    viewed = a_view("/a", at="2026-11-10T10:01:00Z", channel="Direct")
    left = an_event("page_exit", at="2026-11-10T10:02:00Z", channel="Email", path="/mail")
    body = {"metrics": ["visits", "events"], "dimensions": ["visit.channel", "visit.exit_page"]}
    dates = {"startDate": "2026-11-10", "endDate": "2026-11-10"}
    with Service([early, viewed, left]) as service:
        reply = service.post("/v1/query/metrics", {**body, **dates}, "shop")

    fact = {"visit.channel": "Direct", "visit.exit_page": "/a"}
    assert reply.json["data"] == [{**fact, "visits": 1, "events": 3}]


def test_a_path_is_broken_down_by_the_first_page_of_the_whole_visit() -> None:
    """Under a filter that keeps a later page view alone."""
    views = [a_view("/", at="2026-11-10T10:00:00Z"), a_view("/a", at="2026-11-10T10:01:00Z")]
    body = {
        "parameters": [{"name": "paths", "breakdown": "path"}],
        "filters": [{"field": "path", "operator": "eq", "value": "/a"}],
        "startDate": "2026-11-10",
        "endDate": "2026-11-10",
    }
    with Service(views) as service:
        [row] = service.post("/v1/query", body, "shop").json["data"][0]["data"]

    assert (row["name"], row["breakdown"], row["sessions"]) == ("/ → /a", "/", 1)


def test_a_filter_on_an_event_keeps_the_visit_in_which_it_happened() -> None:
    """Also for numbers from page views, which no such event is."""
    viewed = a_view("/", at="2026-11-30T00:10:00Z")
    done = an_event("signup", at="2026-11-30T00:11:00Z", path="/join")
    body = {
        "parameters": ["today_metrics", "entry_pages", "exit_pages"],
        "filters": [{"field": "name", "operator": "eq", "value": "signup"}],
        "preset": "today",
    }
    with Service([viewed, done]) as service:
        data = service.post("/v1/query", body, "shop").json["data"]

    [today], [entry], [exit_] = (entry["data"] for entry in data)
    assert today == {"pageviews": 0, "visitors": 1, "sessions": 1}
    assert (entry["name"], entry["pageviews"]) == (exit_["name"], exit_["pageviews"]) == ("/", 1)
