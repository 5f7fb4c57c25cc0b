"""Groups of visits add up to all visits, in several time zones and time ranges.

Each number is compared with another query of the service that is made without the group or filter.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.oracle.aggregates import grouped, median, percent, rounded
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.random_traffic import STAGES, Stage, parameters
from tests.oracle.service import Service

FACTS = ("visit.channel", "visit.utm_campaign", "visit.entry_page", "visit.device_type")
GOALS = [{"event": "signup"}, {"path": "/pricing"}]
STEPS = [{"path": "/"}, {"path": "/a"}]
RANGES = (0, 1, 2)
"""Days before and after the day of the stage."""
SUMMED = ("visits", "page_views", "events", "entries", "exits", "conversions")

Rows = list[dict[str, Any]]


class Asked:
    """Queries about one time range of the shop."""

    def __init__(self, service: Service, stage: Stage, days: int) -> None:
        self._service = service
        self._range = {
            "startDate": str(stage.day - timedelta(days=days)),
            "endDate": str(stage.day + timedelta(days=days)),
            "timezone": stage.zone,
        }

    def metrics(self, *metrics: str, **body: Any) -> Rows:
        return self._data("/v1/query/metrics", {"metrics": metrics, **body})

    def custom(self, **query: Any) -> Rows:
        return self._data("/v1/query/custom", {"query": query, "limit": 10_000})

    def standard(self, parameter: Mapping[str, Any], **body: Any) -> Rows:
        entry = self._data("/v1/query", {"parameters": [parameter], **body})[0]
        rows: Rows = entry["data"]
        return rows

    def _data(self, path: str, body: Mapping[str, Any]) -> Rows:
        reply = self._service.post(path, {**body, **self._range}, "shop")
        assert reply.status == 200, reply.json
        data: Rows = reply.json["data"]
        return data


@pytest.fixture(scope="module", params=parameters(STAGES[:4]))
def played(request: pytest.FixtureRequest) -> Iterator[tuple[Service, Stage]]:
    """Traffic around a day, and where it plays."""
    stage: Stage = request.param
    with Service(fixed_traffic(stage)) as service:
        yield service, stage


@pytest.fixture(params=RANGES, ids=("1 day", "3 days", "5 days"))
def asked(played: tuple[Service, Stage], request: pytest.FixtureRequest) -> Asked:
    """Queries about the day, and about days around it."""
    return Asked(*played, request.param)


@pytest.mark.parametrize("fact", FACTS)
def test_visits_and_rows_of_all_groups_are_all_visits_and_rows(asked: Asked, fact: str) -> None:
    [everything] = asked.metrics(*SUMMED, goals=GOALS)
    groups = asked.metrics(*SUMMED, goals=GOALS, dimensions=[fact])

    assert everything["visits"] > 0
    for metric in SUMMED:
        assert sum(row[metric] for row in groups) == everything[metric], metric


def test_a_channel_keeps_bounces_and_durations_as_the_sessions_have_them(asked: Asked) -> None:
    columns = ["session_id", "channel", "is_bounce"]
    longest = [{"aggregate": "max", "field": "duration", "alias": "duration"}]
    sessions = asked.custom(table="sessions", selects=longest, groupBy=columns)

    for channel, held in grouped(sessions, lambda row: row["channel"]).items():
        filters = [{"field": "visit.channel", "operator": "eq", "value": channel}]
        [found] = asked.metrics("visits", "bounce_rate", "median_visit_duration", filters=filters)
        [summary] = asked.standard({"name": "summary"}, filters=filters)
        middle = rounded(median([round(row["duration"] * 1000) for row in held]) / 1000)
        bounces = percent(sum(row["is_bounce"] for row in held), len(held))
        assert list(found.values()) == [len(held), bounces, middle]
        assert summary["sessions"] == len(held)
        assert (summary["bounce_rate"], summary["median_session_duration"]) == (bounces, middle)


def test_a_filter_on_rows_keeps_the_whole_visits_that_have_one(asked: Asked) -> None:
    """Bounce rate and visits as the sessions have them that viewed the page."""
    seen = [{"field": "path", "operator": "eq", "value": "/a"}]
    count = [{"aggregate": "count", "field": "*", "alias": "n"}]
    there = asked.custom(table="events", selects=count, filters=seen, groupBy=["session_id"])
    columns = ["session_id", "is_bounce"]
    sessions = asked.custom(table="sessions", selects=count, groupBy=columns)

    ids = {row["session_id"] for row in there} - {None}
    held = [row for row in sessions if row["session_id"] in ids]
    [found] = asked.metrics("visits", "bounce_rate", filters=seen)
    assert found["visits"] == len(held)
    assert found["bounce_rate"] == percent(sum(row["is_bounce"] for row in held), len(held))


@pytest.mark.parametrize("fact", FACTS)
def test_conversions_broken_down_add_up_to_all_conversions(asked: Asked, fact: str) -> None:
    goals = {"name": "goals", "goals": GOALS}
    whole = asked.standard(goals)
    parts = asked.standard({**goals, "breakdown": fact, "breakdown_limit": 2})

    for goal in whole:
        own = [row for row in parts if row["name"] == goal["name"]]
        for column in ("conversions", "sessions"):
            assert sum(row[column] for row in own) == goal[column]


def test_errors_and_vitals_of_all_channels_are_all_of_them(asked: Asked) -> None:
    count = [{"aggregate": "count", "field": "*", "alias": "n"}]
    for table in ("errors", "vitals", "engagement"):
        [everything] = asked.custom(table=table, selects=count)
        groups = asked.custom(table=table, selects=count, groupBy=["visit.channel"])
        assert sum(row["n"] for row in groups) == everything["n"] > 0
