"""What an error suggests in place of an unknown name."""

from typing import Any

import pytest

from query.request.suggestions import unknown_name_message
from tests.query.query_service import InProcessService, start_service

COUNT = {"field": "*", "aggregate": "count"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    return start_service(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            {"groupBy": ["date"]},
            "Unknown column 'date' in table 'events', at 'query.groupBy[0]'; in 'groupBy' of a "
            "custom query, use 'time:daily'; a time range is given by 'startDate' and 'endDate'",
        ),
        (
            {"groupBy": ["page"]},
            "Unknown column 'page' in table 'events', at 'query.groupBy[0]'; did you mean 'path'?",
        ),
        (
            {"selects": [{"field": "visitors", "aggregate": "count"}]},
            "Unknown column 'visitors' in table 'events', at 'query.selects[0].field'; they are "
            "counted by {'field': 'anonymous_id', 'aggregate': 'uniq'}",
        ),
        (
            {"groupBy": ["user_id"]},
            "Unknown column 'user_id' in table 'events', at 'query.groupBy[0]'; did you mean "
            "'anonymous_id' or 'profile_id'?",
        ),
    ],
)
def test_words_of_other_products_are_understood(
    service: InProcessService, query: dict[str, Any], said: str
) -> None:
    reply = service.custom("events", **{"selects": [COUNT], **query})

    assert (reply.status, reply.json["error"]) == (400, said)


def test_a_preset_that_is_not_alike_is_answered_with_the_list(service: InProcessService) -> None:
    body = {"parameters": ["summary"], "preset": "last_12m"}

    reply = service.ask("POST", "/v1/query", body, website_id="shop")

    assert reply.json["error"].startswith(
        "Unknown preset 'last_12m'; known are today, yesterday, last_7d"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [("sources", "traffic_sources"), ("timeseries", "events_by_date")],
)
def test_query_types_of_other_products_are_understood(
    service: InProcessService, name: str, meant: str
) -> None:
    [entry] = service.query(name).json["data"]

    assert entry["error"] == f"Unknown query type '{name}'; did you mean '{meant}'?"


def test_a_comparison_of_other_products_is_understood(service: InProcessService) -> None:
    reply = service.query("summary", compare="previous")

    assert "did you mean 'previous_period'?" in reply.body.decode()


def test_a_preset_beside_a_date_is_refused(service: InProcessService) -> None:
    body = {"parameters": ["summary"], "preset": "last_7d", "startDate": "2026-11-01"}

    reply = service.ask("POST", "/v1/query", body, website_id="shop")

    assert reply.json["error"] == ("'preset' and 'startDate' are both there; leave one of them out")


def test_a_query_type_that_is_not_alike_is_answered_with_the_place_of_the_list(
    service: InProcessService,
) -> None:
    [entry] = service.query("nothing_of_the_kind").json["data"]

    assert entry["error"] == (
        "Unknown query type 'nothing_of_the_kind'; GET /v1/query/types lists all query types"
    )


def test_few_names_are_listed_and_long_ones_are_cut() -> None:
    said = unknown_name_message("word", "x" * 100, ("one", "two"))

    assert said == f"Unknown word '{'x' * 60}…'; known are one, two"


def test_a_name_where_none_is_known_is_to_be_left_out() -> None:
    assert unknown_name_message("parameter", "zz", []) == (
        "Unknown parameter 'zz'; there are none, leave it out"
    )


def test_a_known_name_in_the_wrong_place_is_not_suggested() -> None:
    known = ["visitor.profile_id", "path"]

    assert unknown_name_message("column", "path", known, " in 'groupBy'") == (
        "The column 'path' cannot be used here in 'groupBy'"
    )
