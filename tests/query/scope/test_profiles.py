"""Questions by profile id and traits, and the devices of one profile as one visitor."""

import json
from typing import Any

import pytest

from tests.query.lake import a_view, an_error, an_event, an_identity
from tests.query.query_service import NOVEMBER, InProcessService, start_service
from tests.query.scope.kept_events import kept

SEVEN = {"field": "visitor.profile_id", "operator": "eq", "value": "user-7"}
PRO = {"field": "traits.plan", "operator": "eq", "value": "pro"}
PURCHASE = {"steps": [{"path": "/"}, {"event": "purchase"}], "name": "funnel"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """The phone and the desktop of user-7, the device of user-8, and one of nobody.

    user-7 was identified after November; first as free, then as pro.
    """
    service = start_service(tmp_path_factory.mktemp("profiles"))
    service.holds(
        a_view("/", visitor="phone", session="s1", at="2026-11-10T10:00:00Z"),
        an_error("lost", visitor="phone", session="s1", at="2026-11-10T10:01:00Z"),
        an_event("purchase", visitor="desktop", session="s2", at="2026-11-11T10:00:00Z"),
        a_view("/", visitor="other", session="s3", at="2026-11-11T11:00:00Z"),
        a_view("/", visitor="nobody", session="s4", at="2026-11-11T12:00:00Z"),
        a_view("/", visitor="nobody", session="s5", at="2026-10-11T12:00:00Z"),
        an_event("job", visitor=None, session=None, at="2026-11-11T12:00:00Z"),
        an_identity("user-7", visitor="phone", at="2026-12-01T10:00:00Z", traits='{"plan":"free"}'),
        an_identity(
            "user-7", visitor="desktop", at="2026-12-02T10:00:00Z", traits='{"plan":"pro"}'
        ),
        an_identity("user-7", visitor="phone", at="2026-12-03T10:00:00Z"),
        an_identity(
            "user-8", visitor="other", at="2026-10-01T10:00:00Z", traits='{"plan":"free","n":3}'
        ),
        # A page claims to be user-8, who a server has identified.
        an_identity(
            "user-8",
            visitor="other",
            at="2026-10-02T10:00:00Z",
            trusted=True,
            traits='{"plan":"team"}',
        ),
        an_identity("user-9", visitor="other", at="2026-10-03T10:00:00Z", traits='{"plan":"pro"}'),
        an_identity("user-7", visitor="nobody", website="rival", at="2026-12-02T10:00:00Z"),
    )
    return service


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ([SEVEN], 2),
        ([{"not": SEVEN}], 3),
        ([{"field": "visitor.profile_id", "operator": "eq", "value": "user-8"}], 1),
        ([{"field": "visitor.profile_id", "operator": "eq", "value": "user-9"}], 0),
        ([{"field": "visitor.profile_id", "operator": "is_null"}], 2),
        ([PRO], 2),
        ([{"field": "traits.plan", "operator": "eq", "value": "team"}], 1),
        ([{"field": "traits.plan", "operator": "eq", "value": "free"}], 0),
        ([{"field": "traits.n", "operator": "eq", "value": 3}], 0),
        ([{"has_done": {"event": "purchase", "filters": [PRO]}}], 1),
        ([{"or": [PRO, {"field": "name", "operator": "eq", "value": "job"}]}], 3),
    ],
)
def test_rows_are_kept_by_the_profile_of_their_visitor(
    service: InProcessService, filters: Any, count: int
) -> None:
    """That was sent last for it, by a server if one ever did, also after the time range."""
    assert kept(service, *filters) == count


def test_rows_of_other_tables_and_other_queries_are_kept_too(service: InProcessService) -> None:
    count = [{"field": "*", "aggregate": "count", "alias": "n"}]
    metrics = {"metrics": ["visitors", "errors"], "filters": [PRO], **NOVEMBER}

    errors = service.rows("recent_errors", filters=[SEVEN])
    custom = service.custom("events", count, filters=[PRO]).json["data"]
    [row] = service.ask("POST", "/v1/query/metrics", metrics, website_id="shop").json["data"]

    assert [error["message"] for error in errors] == ["lost"]
    assert custom == [{"n": 2}]
    assert row == {"visitors": 2, "errors": 1}


def test_the_profile_is_a_dimension_of_metrics(service: InProcessService) -> None:
    body = {"metrics": ["visitors"], "dimensions": ["visitor.profile_id"], **NOVEMBER}

    rows = service.ask("POST", "/v1/query/metrics", body, website_id="shop").json["data"]

    assert rows == [
        {"visitor.profile_id": "user-7", "visitors": 2},
        {"visitor.profile_id": "user-8", "visitors": 1},
        {"visitor.profile_id": None, "visitors": 1},
    ]


def test_the_devices_of_a_profile_may_be_one_visitor(service: InProcessService) -> None:
    visitors = {
        person: service.rows("summary", person=person)[0]["unique_visitors"]
        for person in ("device", "profile")
    }
    reached = {
        person: [step["visitors"] for step in service.rows(PURCHASE, person=person)]
        for person in ("device", "profile")
    }

    assert visitors == {"device": 4, "profile": 3}
    assert reached == {"device": [3, 0], "profile": [3, 1]}


def test_what_one_device_did_the_person_did(service: InProcessService) -> None:
    bought = {"has_done": {"event": "purchase"}}

    assert kept(service, bought) == 1
    assert kept(service, bought, person="profile") == 2


def test_retention_follows_a_person_over_devices(service: InProcessService) -> None:
    dates = {"startDate": "2026-11-10", "endDate": "2026-11-11"}
    retention = {"name": "retention", "period": "day"}

    [first, second, *_] = service.rows(retention, person="profile", **dates)
    [alone, *_] = service.rows(retention, **dates)

    assert (first["visitors"], second["returned"], alone["visitors"]) == (1, 1, 1)
    assert service.rows(retention, **dates)[1]["returned"] == 0


def test_metrics_count_persons(service: InProcessService) -> None:
    body = {
        "metrics": ["visitors"],
        "dimensions": ["visitor.is_new"],
        "person": "profile",
        "filters": [SEVEN],
        **NOVEMBER,
    }

    rows = service.ask("POST", "/v1/query/metrics", body, website_id="shop").json["data"]

    assert rows == [{"visitor.is_new": True, "visitors": 1}]


def test_the_history_of_a_person_is_of_all_devices(service: InProcessService) -> None:
    timeline = service.rows("visitor_timeline", filters=[SEVEN])
    [detail] = service.rows("profile_detail", filters=[SEVEN])
    sessions = service.rows("profile_sessions", filters=[SEVEN])

    assert [(row["name"], row["anonymous_id"]) for row in timeline] == [
        ("screen_view", "phone"),
        ("lost", "phone"),
        ("purchase", "desktop"),
    ]
    assert (detail["total_pageviews"], detail["total_sessions"]) == (1, 1)
    assert [row["session_id"] for row in sessions] == ["s1"]


def test_lists_of_visitors_show_who_they_are(service: InProcessService) -> None:
    """The profile and its traits, sent after the time range and from another device too."""
    bought = {"name": "goals", "goals": [{"event": "purchase"}], "goal": "purchase"}
    pro, team = '{"plan":"pro"}', '{"plan":"team"}'

    devices = service.rows("profile_list")
    people = service.rows("profile_list", person="profile")
    buyers = service.rows({"name": "visitors", "of": bought}, person="profile")
    [detail] = service.rows("profile_detail", filters=[SEVEN])

    assert [who(row) for row in devices] == [
        ("nobody", None, None),
        ("other", "user-8", team),
        ("desktop", "user-7", pro),
        ("phone", "user-7", pro),
    ]
    assert [who(row) for row in people] == [
        ("nobody", None, None),
        ("other", "user-8", team),
        ("desktop", "user-7", pro),
    ]
    assert [(who(row), row["total_events"]) for row in buyers] == [(("desktop", "user-7", pro), 2)]
    assert who(detail) == ("desktop", "user-7", pro)


def who(row: Any) -> tuple[str, str | None, str | None]:
    """By what a list knows a visitor."""
    return row["visitor_id"], row["profile_id"], row["traits"]


def asked(service: InProcessService, table: str, *selects: Any, person: str, **query: Any) -> Any:
    """The rows of a custom query."""
    body = {"query": {"table": table, "selects": selects, **query}, "person": person, **NOVEMBER}
    reply = service.ask("POST", "/v1/query/custom", body, website_id="shop")
    assert reply.status == 200, reply.json
    return reply.json["data"]


@pytest.mark.parametrize("table", ["events", "sessions"])
def test_custom_queries_count_persons(service: InProcessService, table: str) -> None:
    service.holds(
        a_view("/", visitor="desktop", session="s6", at="2026-11-12T10:00:00Z", website="blog")
    )
    people = {"field": "anonymous_id", "aggregate": "uniq", "alias": "people"}
    both = {"website_id": "shop,blog"}
    body = {"query": {"table": table, "selects": [people]}, **NOVEMBER}

    found = {
        person: service.ask("POST", "/v1/query/custom", {**body, "person": person}, **both).json
        for person in ("device", "profile")
    }

    # a session needs a page view, so the purchase on the desktop is none
    assert [found[person]["data"] for person in ("device", "profile")] == [
        [{"people": 4}],
        [{"people": 3}],
    ]


def test_a_group_of_custom_queries_is_a_person(service: InProcessService) -> None:
    count = {"field": "*", "aggregate": "count", "alias": "n"}
    grouped = {"groupBy": ["anonymous_id"], "filters": [SEVEN]}
    phone = [{"field": "anonymous_id", "operator": "eq", "value": "phone"}]

    people = asked(service, "events", count, person="profile", **grouped)
    devices = asked(service, "events", count, person="device", **grouped)
    of_phone = asked(service, "events", count, person="profile", filters=phone)

    assert people == [{"anonymous_id": "desktop", "n": 2}]
    assert devices == [{"anonymous_id": "desktop", "n": 1}, {"anonymous_id": "phone", "n": 1}]
    assert of_phone == [{"n": 1}]


def test_the_sql_of_a_person_is_explained(service: InProcessService) -> None:
    query = {"table": "events", "selects": [{"field": "anonymous_id", "aggregate": "uniq"}]}
    body = {"query": query, "person": "profile", **NOVEMBER}

    explained = service.ask("POST", "/v1/query/compile", body, website_id="shop").json

    assert {scan["name"] for scan in explained["tables"]} == {"events", "identities"}
    assert "visitor_profiles" in explained["sql"]


def exported(service: InProcessService, **more: str) -> list[str | None]:
    """The visitors of the exported events."""
    filters = '[{"has_done": {"event": "purchase"}}]'
    asked_for = {"columns": "anonymous_id", "filters": filters, **NOVEMBER, **more}
    reply = service.ask("GET", "/v1/export/events", website_id="shop", **asked_for)
    assert reply.status == 200, reply.body
    return [json.loads(line)["anonymous_id"] for line in reply.body.decode().splitlines()]


def test_an_export_has_what_persons_did_under_their_own_ids(service: InProcessService) -> None:
    assert exported(service) == ["desktop"]
    assert exported(service, person="profile") == ["phone", "desktop"]


def test_rows_without_profiles_have_no_persons(service: InProcessService) -> None:
    body = {
        "query": {"table": "clicks", "selects": [{"field": "*", "aggregate": "count"}]},
        "person": "profile",
        **NOVEMBER,
    }

    custom = service.ask("POST", "/v1/query/custom", body, website_id="shop")
    export = service.ask(
        "GET", "/v1/export/clicks", website_id="shop", person="profile", **NOVEMBER
    )
    wrong = service.ask("GET", "/v1/export/events", website_id="shop", person="both", **NOVEMBER)

    for reply in (custom, export):
        assert reply.status == 400
        assert reply.json["error"] == "'person' is 'profile', but table 'clicks' has no profiles"
    assert (wrong.status, wrong.json["error"]) == (
        400,
        "'person' is 'both'; it must be device or profile",
    )


def test_a_timeline_without_a_visitor_says_what_names_one(service: InProcessService) -> None:
    [entry] = service.query("visitor_timeline").json["data"]

    assert entry["error"] == (
        "Missing required filter: 'anonymous_id'. Add {'field': 'anonymous_id', 'operator': 'eq', "
        "'value': ...} to 'filters'; or the same on 'visitor.profile_id', for all devices of a "
        "person"
    )


def test_a_person_is_a_device_or_a_profile(service: InProcessService) -> None:
    reply = service.query("summary", person="both")

    assert reply.status == 400
    assert "'person'" in reply.json["error"]
