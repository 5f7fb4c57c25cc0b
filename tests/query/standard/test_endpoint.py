"""POST /v1/query: whole answers, worked out by hand."""

from pathlib import Path

import pytest

from tests.query.lake import a_click, a_view, an_event, an_outbound_click
from tests.query.query_service import InProcessService, start_service


@pytest.fixture
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


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
            {"parameter": "summary", "success": True, "data": [], "meta": {"totalRows": 1}},
            {"parameter": "pages", "success": True, "data": [], "meta": {"totalRows": 0}},
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
        ({"granularity": "yearly"}, "it must be one of minute, hourly, daily, weekly, monthly"),
        ({"limit": 0}, "'limit' must be at least 1"),
        ({"limit": 10_001}, "'limit' must be at most 10,000"),
        ({"limit": "5"}, "'limit' must be an integer or null, not a string"),
        ({"page": 0}, "'page' must be at least 1"),
        ({"timezone": "Mars/Olympus"}, "'timezone' is 'Mars/Olympus'; use an IANA time zone"),
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


# Pages, sources


def test_pages_are_ordered_by_visitors_and_share_them(service: InProcessService) -> None:
    service.holds(
        a_view("/a", visitor="u1"),
        a_view("/a", visitor="u2"),
        a_view("/b", visitor="u1"),
        a_view("/b", visitor="u1"),
        a_view("/c", visitor="u3"),
        a_view(None, visitor="u4"),
        an_event("signup", path="/a", visitor="u5"),
    )

    assert service.rows("pages") == [
        {"name": "/a", "pageviews": 2, "visitors": 2, "percentage": 50.0},
        {"name": "/b", "pageviews": 2, "visitors": 1, "percentage": 25.0},
        {"name": "/c", "pageviews": 1, "visitors": 1, "percentage": 25.0},
    ]
    assert [row["name"] for row in service.rows("pages", limit=2, page=2)] == ["/c"]


def test_traffic_without_a_referrer_is_direct(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1", referrer="https://google.com/", referrer_name="Google"),
        a_view("/", visitor="u2", session="s2", referrer="Direct", referrer_name="Direct"),
        a_view("/", visitor="u3", session="s3"),
    )

    assert service.rows("traffic") == [
        {"name": "Direct", "pageviews": 2, "visitors": 2, "percentage": 66.67},
        {"name": "Google", "pageviews": 1, "visitors": 1, "percentage": 33.33},
    ]


# Clicks away


def test_links_away_are_told_apart_by_target_and_text(service: InProcessService) -> None:
    service.holds(
        an_outbound_click("https://a.example/x", "Docs", visitor="u1", session="s1"),
        an_outbound_click(
            "https://a.example/x", "Docs", visitor="u2", session="s2", at="2026-11-11T08:00:00.125Z"
        ),
        an_outbound_click("https://a.example/x", "More", visitor="u1", session="s1"),
        a_view("/"),
    )

    assert service.rows("outbound_links") == [
        {
            "href": "https://a.example/x",
            "text": "Docs",
            "total_clicks": 2,
            "unique_users": 2,
            "unique_sessions": 2,
            "percentage": 66.67,
            "last_clicked": "2026-11-11T08:00:00.125Z",
        },
        {
            "href": "https://a.example/x",
            "text": "More",
            "total_clicks": 1,
            "unique_users": 1,
            "unique_sessions": 1,
            "percentage": 33.33,
            "last_clicked": "2026-11-10T12:00:00.000Z",
        },
    ]


def test_domains_share_the_clicks_of_one_website(service: InProcessService) -> None:
    service.holds(
        an_outbound_click("https://a.example/1", visitor="u1"),
        an_outbound_click("https://a.example/2", visitor="u2"),
        an_outbound_click("https://b.example/1", visitor="u1"),
        an_outbound_click("https://b.example/1", visitor="u9", website="blog"),
    )

    assert service.rows("outbound_domains") == [
        {
            "domain": "a.example",
            "total_clicks": 2,
            "unique_users": 2,
            "unique_links": 2,
            "percentage": 66.67,
        },
        {
            "domain": "b.example",
            "total_clicks": 1,
            "unique_users": 1,
            "unique_links": 1,
            "percentage": 33.33,
        },
    ]


# Links


def test_clicks_of_a_link_are_counted(service: InProcessService) -> None:
    service.holds(a_click(), a_click(), a_click(link="away", organization="globex"))

    assert service.rows("link_total_clicks", subject="link:go") == [{"total": 2}]


def test_every_day_has_a_point_also_without_clicks(service: InProcessService) -> None:
    service.holds(a_click(at="2026-11-02T23:59:59.999Z"), a_click(at="2026-11-04T00:00:00Z"))
    span = {"startDate": "2026-11-02", "endDate": "2026-11-04"}

    assert service.rows("link_clicks_by_day", subject="link:go", **span) == [
        {"date": "2026-11-02", "clicks": 1},
        {"date": "2026-11-03", "clicks": 0},
        {"date": "2026-11-04", "clicks": 1},
    ]


def test_days_are_days_of_the_zone_and_both_ends_belong(service: InProcessService) -> None:
    service.holds(
        a_click(at="2026-11-01T22:59:59.999Z"),  # still the 1st in Berlin
        a_click(at="2026-11-01T23:00:00Z"),  # the 2nd
        a_click(at="2026-11-02T22:59:59.999Z"),  # the 2nd
        a_click(at="2026-11-02T23:00:00Z"),  # the 3rd
    )
    span = {"startDate": "2026-11-02", "endDate": "2026-11-02", "timezone": "Europe/Berlin"}

    assert service.rows("link_clicks_by_day", subject="link:go", **span) == [
        {"date": "2026-11-02", "clicks": 2}
    ]


def test_the_hour_that_occurs_twice_keeps_its_clicks_apart(service: InProcessService) -> None:
    service.holds(
        a_click(at="2026-10-25T00:30:00Z"),  # 02:30 summer time
        a_click(at="2026-10-25T01:30:00Z"),  # 02:30 winter time
        a_click(at="2026-10-25T01:40:00Z"),
    )
    day = {"startDate": "2026-10-25", "endDate": "2026-10-25", "timezone": "Europe/Berlin"}

    hours = service.rows("link_clicks_by_day", subject="link:go", granularity="hourly", **day)

    assert hours[1:5] == [
        {"date": "2026-10-25 01:00:00", "clicks": 0},
        {"date": "2026-10-25 02:00:00", "clicks": 1},
        {"date": "2026-10-25 02:00:00", "clicks": 2},
        {"date": "2026-10-25 03:00:00", "clicks": 0},
    ]
    assert sum(hour["clicks"] for hour in hours) == 3
    assert service.rows("link_clicks_by_day", subject="link:go", **day) == [
        {"date": "2026-10-25", "clicks": 3}
    ]


def test_a_series_is_whole_unless_a_limit_is_asked(service: InProcessService) -> None:
    month = service.rows("link_clicks_by_day", subject="link:go", granularity="hourly")
    third = service.rows("link_clicks_by_day", subject="link:go", limit=2, page=3)

    assert len(month) == 30 * 24
    assert [row["date"] for row in third] == ["2026-11-05", "2026-11-06"]


def test_referrers_of_one_name_are_one_row(service: InProcessService) -> None:
    service.holds(
        a_click(referrer="https://x.com/b", referrer_name="X"),
        a_click(referrer="https://t.co/a", referrer_name="X"),
        a_click(referrer="Direct", referrer_name="Direct"),
        a_click(),
        a_click(),
        a_click(referrer="https://news.example/today", referrer_name="news.example"),
    )

    assert service.rows("link_top_referrers", subject="link:go") == [
        {"name": "Direct", "referrer": "Direct", "clicks": 3},
        {"name": "X", "referrer": "https://t.co/a", "clicks": 2},
        {"name": "news.example", "referrer": "https://news.example/today", "clicks": 1},
    ]


# What is left out, and what is not


def test_programs_are_left_out_unless_asked_for(service: InProcessService) -> None:
    service.holds(a_view("/"), a_view("/", is_bot=True, visitor="u2"), a_view("/", is_bot=None))

    assert service.rows("summary")[0]["pageviews"] == 2
    assert service.rows("summary", include_bots=True)[0]["pageviews"] == 3


def test_a_late_row_is_found_by_when_it_happened(service: InProcessService) -> None:
    service.holds(a_view("/", at="2026-11-30T23:00:00Z", received="2026-12-07T22:00:00Z"))

    assert service.rows("summary")[0]["pageviews"] == 1


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
        "Unknown column 'contry' in table 'events'; did you mean 'country'?"
    )


def test_a_request_may_ask_as_many_questions_as_it_is_allowed(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(a_view("/"))

    data = service.query(*["summary_metrics"] * 100).json["data"]

    assert [entry["success"] for entry in data] == [True] * 100
