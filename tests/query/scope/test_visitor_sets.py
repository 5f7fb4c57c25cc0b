"""has_done and has_not_done keep all rows of the visitors who did something, or who did not."""

from typing import Any

import pytest

from query.scope.visitor_sets import visitor_target
from schemas.tables import CLICKS, ERRORS
from tests.query.lake import a_click, a_view, an_error, an_event
from tests.query.query_service import InProcessService, start_service
from tests.query.scope.kept_events import kept

SIGNED_UP = {"has_done": {"event": "signup"}}
NEVER_SIGNED_UP = {"has_not_done": {"event": "signup", "within": "ever"}}
NOT_SIGNED_UP = {"has_not_done": {"event": "signup"}}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """u1 signed up as pro in November, u2 as free in October, u3 never; u4 is another website's."""
    service = start_service(tmp_path_factory.mktemp("service"))
    service.holds(
        a_view("/", session="s1", at="2026-11-10T10:00:00Z", channel="Email"),
        a_view("/docs/a", session="s1", at="2026-11-10T10:01:00Z"),
        an_event(session="s1", at="2026-11-10T10:02:00Z", properties='{"plan": "pro"}'),
        a_view("/docs/b", session="s1b", at="2026-11-12T10:00:00Z", country="DE"),
        an_error("one", session="s1", at="2026-11-10T10:03:00Z"),
        an_event(
            visitor="u2", session="s2", at="2026-10-20T10:00:00Z", properties='{"plan": "free"}'
        ),
        a_view("/", visitor="u2", session="s2b", at="2026-11-11T10:00:00Z", country="DE"),
        an_error("two", visitor="u2", session="s2b", at="2026-11-11T10:01:00Z"),
        a_view("/", visitor="u3", session="s3", at="2026-11-11T12:00:00Z"),
        a_view("/docs/a", visitor="u3", session="s3", at="2026-11-11T12:01:00Z"),
        an_event("job", visitor=None, session=None, at="2026-11-11T13:00:00Z"),
        an_event("signup", visitor="u3", session="s3", at="2026-11-11T12:02:00Z", is_bot=True),
        an_event("signup", visitor="u3", website="rival", at="2026-11-11T12:02:00Z"),
        a_click(visitor="u1"),
    )
    return service


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ([SIGNED_UP], 4),
        ([NOT_SIGNED_UP], 4),
        ([{"not": SIGNED_UP}], 4),
        ([{"has_done": {"event": "signup", "within": "ever"}}], 5),
        ([NEVER_SIGNED_UP], 3),
        ([{"has_done": {"path": "/docs/a"}}], 6),
        ([{"has_done": {"path": "/docs/*", "times": 2}}], 4),
        (
            [
                {
                    "has_done": {
                        "path": "/docs/a",
                        "filters": [{"field": "channel", "operator": "eq", "value": "Email"}],
                    }
                }
            ],
            4,
        ),
        (
            [
                {
                    "has_done": {
                        "filters": [{"field": "path", "operator": "starts_with", "value": "/docs"}],
                        "times": 2,
                    }
                }
            ],
            4,
        ),
        (
            [
                {
                    "has_not_done": {
                        "filters": [{"field": "path", "operator": "starts_with", "value": "/docs"}],
                        "times": 2,
                    }
                }
            ],
            4,
        ),
        (
            [
                {
                    "has_done": {
                        "event": "signup",
                        "within": "ever",
                        "filters": [
                            {"field": "properties.plan", "operator": "eq", "value": "free"}
                        ],
                    }
                }
            ],
            1,
        ),
        ([SIGNED_UP, {"field": "country", "operator": "eq", "value": "DE"}], 1),
        ([{"or": [SIGNED_UP, {"field": "country", "operator": "eq", "value": "DE"}]}], 5),
        ([{"and": [{"has_done": {"path": "/"}}, {"has_not_done": {"path": "/docs/b"}}]}], 3),
        ([{"has_done": {"path": "/"}}, {"has_not_done": {"path": "/docs/b"}}], 3),
    ],
)
def test_a_filter_keeps_all_rows_of_the_visitors_who_did_it(
    service: InProcessService, filters: Any, count: int
) -> None:
    assert kept(service, *filters) == count


def test_bots_count_only_where_they_are_included(service: InProcessService) -> None:
    assert kept(service, SIGNED_UP, include_bots=True) == 4 + 3


def test_within_is_the_time_range_of_the_query(service: InProcessService) -> None:
    assert kept(service, SIGNED_UP, startDate="2026-10-01") == 6


def test_a_parameter_may_have_such_filters_of_its_own(service: InProcessService) -> None:
    [row] = service.rows({"name": "summary", "filters": [SIGNED_UP]})

    assert row["total_events"] == 4


def test_metrics_of_visits_are_of_all_visits_of_those_visitors(service: InProcessService) -> None:
    [row] = service.rows("summary", filters=[SIGNED_UP])

    assert (row["sessions"], row["unique_visitors"], row["pageviews"]) == (2, 1, 3)


def test_rows_of_other_tables_are_kept_by_what_their_visitor_did(
    service: InProcessService,
) -> None:
    """Also beside a filter on a column that the table does not have."""
    rows = service.rows("recent_errors", filters=[SIGNED_UP])
    custom = service.custom(
        "errors", [{"field": "*", "aggregate": "count"}], filters=[NEVER_SIGNED_UP]
    )

    assert [row["message"] for row in rows] == ["one"]
    assert custom.json["data"] == [{"count_all": 0}]


def test_sessions_are_kept_by_what_their_visitor_did(service: InProcessService) -> None:
    count = [{"field": "*", "aggregate": "count", "alias": "n"}]
    either = {"or": [SIGNED_UP, {"field": "country", "operator": "eq", "value": "DE"}]}

    found = [
        service.custom("sessions", count, filters=[each]).json["data"][0]["n"]
        for each in (SIGNED_UP, NOT_SIGNED_UP, either)
    ]

    assert found == [2, 2, 3]


def test_exports_keep_the_rows_of_those_visitors(service: InProcessService) -> None:
    filters = '[{"has_done": {"event": "signup"}}]'
    dates = {"startDate": "2026-11-01", "endDate": "2026-11-30"}

    lines = {
        table: service.ask(
            "GET", f"/v1/export/{table}", website_id="shop", filters=filters, **dates
        ).body.splitlines()
        for table in ("events", "sessions", "errors")
    }

    assert {table: len(each) for table, each in lines.items()} == {
        "events": 4,
        "sessions": 2,
        "errors": 1,
    }


def test_metrics_queries_take_them(service: InProcessService) -> None:
    body = {
        "metrics": ["visitors", "visits", "events"],
        "dimensions": ["visit.channel"],
        "filters": [SIGNED_UP],
        "orderBy": [{"field": "visits", "direction": "desc"}],
        "startDate": "2026-11-01",
        "endDate": "2026-11-30",
    }

    rows = service.ask("POST", "/v1/query/metrics", body, website_id="shop").json["data"]

    assert rows == [
        {"visit.channel": "Email", "visitors": 1, "visits": 1, "events": 3},
        {"visit.channel": None, "visitors": 1, "visits": 1, "events": 1},
    ]


def test_facts_of_visits_are_those_of_all_time_for_what_was_ever_done(
    service: InProcessService,
) -> None:
    email = {"field": "visit.channel", "operator": "eq", "value": "Email"}
    by_mail = {"has_done": {"filters": [email], "within": "ever"}}

    assert kept(service, by_mail, startDate="2026-11-12") == 1


@pytest.mark.parametrize(
    ("filter_", "message"),
    [
        (
            {"has_done": {}},
            "'filters[0].has_done' is empty; it needs 'event', 'path', 'goal' or 'filters'",
        ),
        ({"has_done": {"event": "a", "path": "/"}}, "'filters[0].has_done' has both 'event' and"),
        ({"has_done": {"event": "a"}, "field": "path"}, "'filters[0]' must be one condition, or"),
        ({"has_done": {"filters": [{"field": "pth", "operator": "eq", "value": "a"}]}}, "'path'"),
        ({"and": [SIGNED_UP] * 11}, "'filters' has 11 conditions on what visitors did; at most 10"),
    ],
)
def test_a_wrong_behavior_is_told_where(
    service: InProcessService, filter_: Any, message: str
) -> None:
    [entry] = service.query("summary", filters=[filter_]).json["data"]

    assert message in entry["error"]


@pytest.mark.parametrize(
    ("behavior", "message"),
    [
        ({"event": "a", "withn": "ever"}, "did you mean 'within'"),
        (
            {"event": "a", "within": "always"},
            "'filters[0].has_done.within' has a value that is",
        ),
        ({"filters": [SIGNED_UP]}, "'filters[0].has_done.filters' cannot hold 'has_done'"),
        ({"event": "a", "times": 0}, "'filters[0].has_done.times' must be"),
    ],
)
def test_members_of_a_behavior_are_checked(
    service: InProcessService, behavior: Any, message: str
) -> None:
    reply = service.query("summary", filters=[{"has_done": behavior}])

    assert reply.status == 400
    assert message in reply.json["error"]


def test_a_step_of_a_funnel_is_no_place_for_them(service: InProcessService) -> None:
    step = {"event": "signup", "filters": [SIGNED_UP]}
    [entry] = service.query({"name": "goals", "goals": [step]}).json["data"]

    assert "'goals[0].filters[0].has_done' has no meaning here" in entry["error"]


def test_clicks_have_no_visitors_of_a_website(service: InProcessService) -> None:
    reply = service.custom("clicks", [{"field": "*", "aggregate": "count"}], filters=[SIGNED_UP])

    assert reply.status == 400
    assert visitor_target(CLICKS) is None
    assert visitor_target(ERRORS) is not None


def test_the_explained_statement_shows_no_data_files(service: InProcessService) -> None:
    query = {
        "table": "errors",
        "selects": [{"field": "*", "aggregate": "count"}],
        "filters": [SIGNED_UP],
    }
    body = {"query": query, "startDate": "2026-11-01", "endDate": "2026-11-30"}

    reply = service.ask("POST", "/v1/query/compile", body, website_id="shop").json

    assert [scan["name"] for scan in reply["tables"]] == ["errors", "events"]
    assert ".parquet" not in str(reply["values"])
