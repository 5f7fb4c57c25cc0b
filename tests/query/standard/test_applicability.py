"""Members that a query type cannot use are refused."""

from typing import Any

import pytest

from tests.query.query_service import InProcessService, start_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    return start_service(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        (
            {"name": "summary", "granularity": "daily"},
            "'parameters[0].granularity': query type 'summary_metrics' is not a time series",
        ),
        (
            {"name": "retention", "granularity": "daily"},
            "'parameters[0].granularity': query type 'retention' has time buckets of its own; see "
            "its options",
        ),
        (
            {"name": "active_stats", "preset": "today"},
            "'parameters[0].preset': query type 'active_stats' has a fixed time range",
        ),
        (
            {"name": "session_list", "limit": 501},
            "'parameters[0].limit' is 501; query type 'session_list' has at most 500 rows on a "
            "page",
        ),
    ],
)
def test_a_member_of_a_parameter_fails_its_query_alone(
    service: InProcessService, parameter: dict[str, Any], said: str
) -> None:
    reply = service.query(parameter, "summary", granularity="daily").json

    failed, good = reply["data"]
    assert (failed["success"], failed["error"], failed["code"]) == (False, said, "VALIDATION_ERROR")
    assert (good["success"], reply["failed"]) == (True, 1)


@pytest.mark.parametrize(
    ("parameters", "member", "said"),
    [
        (
            ["summary"],
            {"granularity": "hourly"},
            "'granularity' is of no use for this request: query type 'summary_metrics' is not a "
            "time series; leave it out",
        ),
        (
            ["summary", "pages", "unknown"],
            {"granularity": "month"},
            "'granularity' is of no use for this request: no query type of it is a time series; "
            "leave it out",
        ),
        (
            ["session_list"],
            {"limit": 501},
            "'limit' is 501; at most 500 rows are on a page of session_list",
        ),
    ],
)
def test_a_member_of_the_body_that_no_query_can_use_is_refused(
    service: InProcessService, parameters: list[str], member: dict[str, Any], said: str
) -> None:
    reply = service.query(*parameters, **member)

    assert (reply.status, reply.json["error"]) == (400, said)


@pytest.mark.parametrize(
    ("parameters", "member"),
    [
        (["summary", "events_by_date"], {"granularity": "hourly"}),
        (["summary"], {"granularity": "daily", "limit": 100, "page": 1}),
        (["session_list", "pages"], {"limit": 1_000}),
        (["unknown"], {"granularity": "hourly"}),
    ],
)
def test_a_member_of_the_body_that_one_query_can_use_is_taken(
    service: InProcessService, parameters: list[str], member: dict[str, Any]
) -> None:
    assert service.query(*parameters, **member).status == 200


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sortOrder": "asc"}, "'sortOrder' needs 'sortBy', the field to sort by"),
        (
            {"sortBy": "name", "orderBy": [{"field": "name"}]},
            "'sortBy' and 'orderBy' are both given; give one of them",
        ),
    ],
)
def test_an_order_that_would_be_ignored_is_refused(
    service: InProcessService, more: dict[str, Any], said: str
) -> None:
    reply = service.query("pages", **more)

    assert (reply.status, reply.json["error"]) == (400, said)
