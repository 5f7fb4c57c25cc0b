"""POST /v1/query: whole answers, worked out by hand."""

from pathlib import Path
from typing import Any

import pytest

from tests.query.lake import a_click, a_view
from tests.query.query_service import InProcessService, start_service

# The envelope


def test_an_answer_has_the_whole_envelope_also_when_nothing_is_stored(
    service: InProcessService,
) -> None:
    body = service.query("summary", "pages", limit=7, page=2, timezone="Europe/Berlin").json
    query_id = body.pop("queryId")

    assert query_id.startswith("q_")
    assert body == {
        "success": True,
        "failed": 0,
        "data": [
            {"parameter": name, "success": True, "data": [], "meta": meta}
            for name, meta in (
                ("summary", {"totalRows": 1, "prepared": True}),
                ("pages", {"totalRows": 0, "prepared": True}),
            )
        ],
        "meta": {
            "parameters": ["summary", "pages"],
            "total_parameters": 2,
            "page": 2,
            "limit": 7,
            "filters_applied": 0,
            "timezone": "Europe/Berlin",
            "watermark": None,
            "lagSeconds": None,
            "staleReason": "Kafka has not answered yet: how much of it is stored is not known",
            "versions": {"events": -1},
        },
    }


def test_two_answers_have_two_ids(service: InProcessService) -> None:
    assert service.query("summary").json["queryId"] != service.query("summary").json["queryId"]


def test_an_unknown_type_and_one_of_another_subject_fail_alone(service: InProcessService) -> None:
    data = service.query("summry", "summary", "link_total_clicks").json["data"]

    assert [(entry["success"], entry.get("error")) for entry in data] == [
        (False, "Unknown query type 'summry'; did you mean 'summary'?"),
        (True, None),
        (False, "Query type 'link_total_clicks' requires 'link_id', not 'website_id'"),
    ]


def test_the_real_name_and_its_alias_answer_alike(service: InProcessService) -> None:
    service.holds(a_view("/a", referrer_name="Google"), a_view("/b", visitor="u2", session="s2"))

    for alias, name in (
        ("summary", "summary_metrics"),
        ("pages", "top_pages"),
        ("traffic", "traffic_sources"),
    ):
        asked, real = service.query(alias, name).json["data"]
        assert (asked["parameter"], real["parameter"]) == (alias, name)
        assert asked["data"] == real["data"] != []


def test_a_parameter_may_have_dates_granularity_and_a_name_of_its_own(
    service: InProcessService,
) -> None:
    service.holds(a_click(at="2026-11-10T05:00:00Z"))
    own = {
        "name": "link_clicks_by_day",
        "start_date": "2026-11-10",
        "end_date": "2026-11-10",
        "granularity": "hour",
        "id": "today",
    }

    entry = service.query(own, subject="link:go").json["data"][0]

    assert entry["parameter"] == "today"
    assert [row["clicks"] for row in entry["data"]] == [0] * 5 + [1] + [0] * 18


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"parameters": []}, "'parameters' must not be empty"),
        ({"parameters": "summary"}, "'parameters' must be an array, not a string"),
        ({"startDate": "10.11.2026"}, "'startDate' is '10.11.2026'; use a date (YYYY-MM-DD)"),
        ({"endDate": "2026-02-30"}, "'endDate' is '2026-02-30', but February 2026 has 28 days"),
        (
            {"startDate": None},
            "'startDate' is missing: use 'startDate' and 'endDate', or 'preset'",
        ),
        ({"startDate": "2026-12-01"}, "'endDate' is 2026-11-30, which is before 'startDate'"),
        ({"startDate": "2016-01-01"}, "days; at most 3,660 are allowed"),
        ({"granularity": "century"}, "must be one of minute, quarter_hour, hourly, daily, weekly,"),
        ({"granularity": "hours"}, "yearly; did you mean 'hour'?"),
        ({"limit": 0}, "'limit' must be at least 1"),
        ({"limit": 10_001}, "'limit' must be at most 10,000"),
        ({"limit": "5"}, "'limit' must be an integer or null, not a string"),
        ({"page": 0}, "'page' must be at least 1"),
        ({"timezone": "Mars/Olympus"}, "'timezone' is 'Mars/Olympus'; use an IANA time zone"),
        ({"timezone": "america/new_york"}, "use an IANA time zone such as America/New_York"),
        ({"filters": [{"op": "eq", "value": 1}]}, "'filters[0].field' is missing"),
        ({"filters": {}}, "'filters' must be an array, not an object"),
    ],
)
def test_a_wrong_request_is_told_which_field(
    service: InProcessService, body: object, message: str
) -> None:
    assert isinstance(body, dict)
    whole = {
        "parameters": ["summary"],
        "startDate": "2026-11-01",
        "endDate": "2026-11-30",
        **body,
    }

    reply = service.ask("POST", "/v1/query", whole, website_id="shop")

    assert (reply.status, reply.json["success"]) == (400, False)
    assert message in reply.json["error"]
    assert reply.json["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("subject", [{}, {"website_id": "shop", "link_id": "go"}])
def test_a_request_names_one_subject(service: InProcessService, subject: dict[str, str]) -> None:
    reply = service.ask("POST", "/v1/query", {"parameters": ["summary"]}, **subject)

    assert reply.status == 400
    assert reply.json["error"].startswith("Give either 'website_id' or 'link_id'")


def test_clicks_of_a_link_are_counted(service: InProcessService) -> None:
    service.holds(a_click(), a_click(), a_click(link="away", organization="globex"))

    assert service.rows("link_total_clicks", subject="link:go") == [{"total": 2}]


# What is left out, and what is not


def test_programs_are_left_out_unless_asked_for(service: InProcessService) -> None:
    service.holds(a_view("/"), a_view("/", is_bot=True, visitor="u2"), a_view("/", is_bot=None))

    assert service.rows("summary")[0]["pageviews"] == 2
    assert service.rows("summary", include_bots=True)[0]["pageviews"] == 3


def test_filters_apply_to_every_type_of_a_request(service: InProcessService) -> None:
    service.holds(a_view("/a", country="DE"), a_view("/b", country="FR"), a_view("/c"))
    filters = [{"field": "country", "op": "ne", "value": "DE"}]

    body = service.query("pages", "summary", filters=filters).json

    assert [row["name"] for row in body["data"][0]["data"]] == ["/b", "/c"]
    assert body["data"][1]["data"][0]["pageviews"] == 2
    assert body["meta"]["filters_applied"] == 1


def test_a_wrong_filter_fails_the_types_it_is_for(service: InProcessService) -> None:
    entry = service.query("summary", filters=[{"field": "contry", "op": "eq", "value": "DE"}]).json

    assert entry["data"][0]["error"] == (
        "Unknown column 'contry' in table 'events', at 'filters[0].field'; did you mean 'country'?"
    )


def test_a_request_may_ask_as_many_questions_as_it_is_allowed(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(a_view("/"))

    data = service.query(*["summary_metrics"] * 100).json["data"]

    assert [entry["success"] for entry in data] == [True] * 100


def test_meta_has_what_applied_to_all_queries(service: InProcessService) -> None:
    german = [{"field": "country", "operator": "eq", "value": "DE"}]
    own = {"name": "session_list", "limit": 7, "page": 2, "filters": german}

    def applied(*queries: Any) -> tuple[int, int, int]:
        meta = service.query(*queries, filters=german).json["meta"]
        return meta["limit"], meta["page"], meta["filters_applied"]

    assert applied("session_list") == (25, 1, 1)
    assert applied(own) == (7, 2, 2)
    assert applied(own, "country") == (100, 1, 1)


def test_rows_are_in_no_order_of_a_list(service: InProcessService) -> None:
    order = [{"field": "events", "direction": "asc"}]

    [entry] = service.query("session_list", orderBy=order).json["data"]

    assert entry["code"] == "VALIDATION_ERROR"
    assert "'events'" in entry["error"]
