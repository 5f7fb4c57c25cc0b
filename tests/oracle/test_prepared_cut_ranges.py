"""Ranges that cut quarters of an hour: prepared results of them are those of the stored rows."""

from datetime import timedelta
from typing import Any

import pytest

from query.prepared import index_store
from query.request.time_range import Granularity
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.random_traffic import Stage, parameters
from tests.oracle.service import Service, body_of, named
from tests.oracle.test_prepared_results import CLOSED, asked, prepare
from tests.query.lake import a_view, an_event

TIMES = (
    ("00:07:13", "23:52:41"),
    ("11:59:59.999", "12:30:00.001"),
    ("08:45:00", "20:01:00"),
)
"""Times on the first day, and on the last."""


@pytest.mark.parametrize("few_parts", [0, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("stage", parameters(CLOSED[:2]))
def test_prepared_results_are_those_of_the_stored_rows(
    stage: Stage, few_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_store, "FEW_ROLLUPS", few_parts)
    with Service(fixed_traffic(stage), portions=2) as service:
        queries = asked(stage, (Granularity.DAILY, Granularity.HOURLY))
        service.results(queries)
        prepare(service)
        prepared = []
        for query in (each for each in queries if each.start == stage.day - timedelta(days=2)):
            for first, last in TIMES:
                body = {
                    **body_of(query, [named(query)]),
                    "startDate": f"{query.start} {first}",
                    "endDate": f"{query.end} {last}",
                }
                both = [
                    service.post("/v1/query", body, "shop", more).json["data"][0]
                    for more in ("", "&prepared=false")
                ]
                assert both[0]["data"] == both[1]["data"], (query, first, last)
                prepared.append(both[0]["meta"].get("prepared", False))
        assert sum(prepared) > len(prepared) / 2


LONG = {
    "first": (
        ("2026-11-08T12:00:00Z", "/first", "2026-11-09T15:00:00Z"),
        ("2026-11-09T13:00:00Z", "/second", "2026-11-09T15:00:00Z"),
        ("2026-11-10T01:00:00Z", "/third", "2026-11-10T01:00:01Z"),
    ),
    "last": (
        ("2026-11-09T23:00:00Z", "/a", "2026-11-09T23:00:01Z"),
        ("2026-11-10T22:00:00Z", "/b", "2026-11-12T15:00:00Z"),
        ("2026-11-11T22:00:00Z", "/c", "2026-11-12T15:00:00Z"),
    ),
}
"""Page views of one visit: time, path, and time of receipt."""
RANGES = {
    "first": (
        ("2026-11-09T23:59:30Z", "2026-11-10T23:59:59Z"),
        ("2026-11-10", "2026-11-10T23:59:59Z"),
    ),
    "last": (("2026-11-09", "2026-11-10T00:00:30Z"), ("2026-11-09", "2026-11-09")),
}
"""Of the same whole quarters, with other days around them."""


@pytest.mark.parametrize("few_parts", [0, 12])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("edge", ["first", "last"])
def test_facts_of_long_visits_are_those_around_the_range_itself(
    edge: str, order: int, few_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = [
        a_view(path, at=at, received=received, session="long") for at, path, received in LONG[edge]
    ]
    is_last = {"field": "visit.exit_page", "operator": "eq", "value": "/c"}
    parameters = [
        *("entry_pages", "exit_pages"),
        *({"name": name, "filters": [is_last]} for name in ("summary", "session_list")),
    ]
    with Service(views) as service:
        monkeypatch.setattr(index_store, "FEW_ROLLUPS", few_parts)

        def ask(start: str, end: str, more: str = "") -> list[Any]:
            body = {"parameters": parameters, "startDate": start, "endDate": end, "timezone": "UTC"}
            entries = service.post("/v1/query", body, "shop", more).json["data"]
            return [(entry["data"], entry["meta"]["totalRows"]) for entry in entries]

        ask("2026-11-01", "2026-11-20")
        prepare(service)
        asked_ranges = RANGES[edge][::order]
        found = [ask(*each) for each in asked_ranges]

        assert found == [ask(*each, "&prepared=false") for each in asked_ranges]
        assert found[0] != found[1]


@pytest.mark.parametrize("few_parts", [0, 12])
@pytest.mark.parametrize("name", ["paths", "session_flow", "custom_events_recent"])
def test_rows_of_a_cut_quarter_keep_their_order_and_time(
    name: str, few_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = ((5, "/0"), (10, "/a"), (12, "/b"), (20, "/c"), (40, "/d"))
    visits = [
        make(path, at=f"2026-11-10T12:{minute:02}:0{i}Z", session=f"s{i}", visitor=f"v{i}")
        for i in range(4)
        for minute, path in minutes
        for make in (a_view, an_event)
    ]
    with Service(visits) as service:
        monkeypatch.setattr(index_store, "FEW_ROLLUPS", few_parts)

        def ask(start: str, end: str, more: str = "") -> dict[str, Any]:
            body = {"parameters": [name], "startDate": start, "endDate": end, "limit": 50}
            [entry] = service.post("/v1/query", body, "shop", more).json["data"]
            return {"rows": entry["data"], "total": entry["meta"]["totalRows"]}

        ask("2026-11-10", "2026-11-10")
        prepare(service)
        for asked_range in (
            ("2026-11-10 12:07:30", "2026-11-10 20:00:00"),
            ("2026-11-10 12:07:30", "2026-11-10 12:44:10"),
            ("2026-11-10 00:00:00", "2026-11-10 12:44:10"),
        ):
            found = ask(*asked_range)
            assert found["rows"]
            assert found == ask(*asked_range, "&prepared=false"), asked_range
