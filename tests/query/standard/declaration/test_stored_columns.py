"""Columns that parts do not have are those of the stored rows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import NOVEMBER, InProcessService, reused, start_service

GOALS = {
    "name": "goals",
    "goals": [
        {"path": "/a"},
        {"event": "buy", "value": "properties.total"},
        {"path": "/a", "value": "properties.total", "label": "no number"},
        {"event": "never", "value": "properties.total"},
    ],
}
GERMAN = [{"field": "country", "operator": "eq", "value": "DE"}]
ON_PATH = [{"field": "path", "operator": "eq", "value": "/a"}]


@reused
def service(tmp_path: Path) -> InProcessService:
    """A service with the parts of some rows, one of which has no time and one no number."""
    service = start_service(tmp_path)
    service.holds(
        a_view("/a", visitor="u1", session="s1", country="DE", time_on_page=10),
        a_view("/a", visitor="u2", session="s2", country="US", time_on_page=25),
        a_view("/b", visitor="u2", session="s2", country="US"),
        an_event("page_exit", path="/a", visitor="u1", session="s1", time_on_page=4),
        an_event("page_exit", path="/left", visitor="u1", session="s1", time_on_page=9),
        an_event("buy", visitor="u1", session="s1", properties='{"total": 9.5}'),
        an_event("buy", visitor="u2", session="s2", properties='{"total": "none"}'),
    )
    entry(service, "/v1/query", "summary")
    assert service.results is not None
    asyncio.run(service.results.make_pending())
    return service


def entry(service: InProcessService, path: str, parameter: object, *, url: Any = None) -> Any:
    body = {"parameters": [parameter], **NOVEMBER}
    [found] = service.ask("POST", path, body, website_id="shop", **(url or {})).json["data"]
    return found


@pytest.mark.parametrize("parameter", [GOALS, "page_performance"])
def test_the_rows_are_those_of_the_stored_rows(service: InProcessService, parameter: Any) -> None:
    prepared = entry(service, "/v1/query", parameter)
    stored = entry(service, "/v1/query", parameter, url={"prepared": "false"})

    assert (prepared["meta"]["prepared"], stored["meta"].get("prepared", False)) == (True, False)
    assert prepared["data"] == stored["data"]


def test_values_and_times_are_of_the_rows_that_have_them(service: InProcessService) -> None:
    goals = entry(service, "/v1/query", GOALS)["data"]
    pages = entry(service, "/v1/query", "page_performance")["data"]

    assert [(row["conversions"], row["value"]) for row in goals] == [
        (2, None),
        (2, 9.5),
        (2, 0.0),
        (0, 0.0),
    ]
    assert [(row["name"], row["pageviews"], row["avg_time_on_page"]) for row in pages] == [
        ("/a", 2, 19.5),
        ("/b", 1, None),
    ]


@pytest.mark.parametrize("filters", [GERMAN, ON_PATH])
def test_filters_keep_the_same_rows_in_both(service: InProcessService, filters: Any) -> None:
    body = {"parameters": ["page_performance"], "filters": filters, **NOVEMBER}
    answers = [
        service.ask("POST", "/v1/query", body, website_id="shop", **url).json["data"][0]["data"]
        for url in ({}, {"prepared": "false"})
    ]

    assert answers[0] == answers[1]
    assert [row["name"] for row in answers[0]] == ["/a"]


def test_compile_names_them_where_parts_answer(service: InProcessService) -> None:
    prepared = entry(service, "/v1/query/compile", "page_performance")
    stored = entry(service, "/v1/query/compile", "page_performance", url={"prepared": "false"})

    assert (prepared["prepared"], prepared["further"]) == (True, ["stored_columns"])
    assert (stored["prepared"], stored.get("further")) == (False, None)
