"""Goals, segments, annotations and money properties over HTTP."""

from collections.abc import Mapping
from typing import Any

import pytest

from query.resources.saved_types import SAVED_TYPES, SavedType
from schemas.registry import SAVED_RECORDS, Alias, Share, Website, record_limits
from schemas.registry.validation import new_key
from tests.query.lake import a_view, an_event
from tests.query.query_service import NOW, InProcessService

GERMAN = {"field": "country", "operator": "eq", "value": "DE"}
STAMP = "2026-11-30T00:53:20.000Z"
GERMANS = [{"segment": "Germans"}]
KINDS = pytest.mark.parametrize("saved", SAVED_TYPES, ids=lambda saved: saved.record.plural)


def made(service: InProcessService, path: str, body: object, website: str = "shop") -> Any:
    reply = service.ask("POST", path, body, key="acme-admin", website_id=website)
    assert reply.status == 201, reply.json
    return reply.json["data"]


def example_of_another_website(saved: SavedType) -> Mapping[str, object]:
    """An alias is unique among all websites, other records on theirs."""
    return {**saved.example, **({"name": "elsewhere"} if saved.record is Alias else {})}


def refused(service: InProcessService, path: str, body: object) -> str:
    reply = service.ask("POST", path, body, key="acme-admin", website_id="shop")
    assert reply.status == 400, reply.json
    error: str = reply.json["error"]
    return error


def test_a_goal_has_every_field(service: InProcessService) -> None:
    body = {
        "name": " Purchase ",
        "event": "purchase",
        "filters": [GERMAN, {"or": [GERMAN, {"not": GERMAN}]}],
        "valueProperty": "properties.total",
    }

    goal = made(service, "/v1/goals", body)

    assert goal.pop("id").startswith("goal_")
    assert goal == {
        **body,
        "name": "Purchase",
        "path": None,
        "organizationId": "acme",
        "websiteId": "shop",
        "createdAt": STAMP,
        "updatedAt": STAMP,
    }


def test_a_segment_of_what_visitors_did_is_a_cohort(service: InProcessService) -> None:
    """Its filters are those of any query, and evaluated anew in each."""
    made(service, "/v1/segments", {"name": "Germans", "filters": [GERMAN]})
    did = [{"has_done": {"event": "signup", "filters": [GERMAN], "within": "ever"}}]
    segment = made(service, "/v1/segments", {"name": "Signed up in Germany", "filters": did})
    service.holds(
        an_event(country="DE", at="2026-10-10T12:00:00Z"),
        a_view("/"),
        a_view("/", visitor="u2", session="s2"),
    )

    cohort = [{"segment": "Signed up in Germany"}]

    before = service.rows("summary", filters=cohort)[0]["total_events"]
    service.holds(an_event(visitor="u2", session="s2", country="DE"))
    after = service.rows("summary", filters=cohort)[0]["total_events"]
    bought = service.rows("summary", filters=[{"has_done": {"path": "/", "filters": GERMANS}}])

    assert segment["filters"] == did
    assert (before, after) == (1, 3)
    assert bought[0]["total_events"] == 0


def test_a_goal_is_of_single_events(service: InProcessService) -> None:
    body = {"name": "a", "event": "b", "filters": [{"has_done": {"event": "c"}}]}

    assert "'filters[0].has_done' has no meaning here" in refused(service, "/v1/goals", body)


def with_state(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an alert or report, which is no field of the record."""
    return {name: shown[name] for name in ("state",) if name in shown}


@KINDS
def test_a_record_is_listed_read_changed_and_deleted(
    service: InProcessService, saved: SavedType
) -> None:
    record = made(service, saved.path, saved.example)
    made(service, saved.path, example_of_another_website(saved), "blog")
    path = f"{saved.path}/{record['id']}"
    if saved.record is Share:
        assert record.pop("path").startswith("/s/")  # its link, which is not shown again

    assert record["id"].startswith(f"{saved.record.id_prefix}_")
    one = service.ask("GET", path, key="acme-admin").json
    assert one == {"success": True, "data": record | with_state(one["data"])}
    assert service.ask("GET", saved.path, key="acme-admin", website_id="shop").json == {
        "success": True,
        "data": [one["data"]],
        "meta": {"page": 1, "limit": 100, "total": 1},
    }

    changed = service.ask("PATCH", path, saved.changes, key="acme-admin")
    assert changed.status == 200, changed.json
    shown = {"password": True} if "password" in saved.changes else {}
    assert changed.json["data"] == record | saved.changes | shown
    one = service.ask("GET", path, key="acme-admin").json["data"]
    assert one == changed.json["data"] | with_state(one)

    assert service.ask("DELETE", path, key="acme-admin").json == {"success": True}
    assert service.ask("GET", path, key="acme-admin").status == 404
    assert service.ask("DELETE", path, key="acme-admin").json["error"] == f"No such {saved.word}"


@KINDS
def test_a_website_has_a_limit(
    service: InProcessService, saved: SavedType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limits, "MAX_RECORDS", dict.fromkeys(SAVED_RECORDS, 1))
    made(service, saved.path, saved.example)
    another = {"name": "another"} if saved.named else {}

    reply = service.ask(
        "POST", saved.path, {**saved.example, **another}, key="acme-admin", website_id="shop"
    )

    assert (reply.status, reply.json["error"]) == (
        409,
        f"The website has 1 {saved.record.plural.replace('_', ' ')}, its maximum; delete one first",
    )
    made(service, saved.path, example_of_another_website(saved), "blog")


def test_a_name_is_unique_on_its_website(service: InProcessService) -> None:
    goal = {"name": "Purchase", "event": "purchase"}
    made(service, "/v1/goals", goal)
    made(service, "/v1/goals", goal, "blog")
    other = made(service, "/v1/goals", {"name": "Trial", "event": "trial"})

    for method, path, body in (
        ("POST", "/v1/goals", goal),
        ("PATCH", f"/v1/goals/{other['id']}", {"name": "Purchase"}),
    ):
        reply = service.ask(method, path, body, key="acme-admin", website_id="shop")
        assert (reply.status, reply.json["error"]) == (409, "This name is already taken")


def test_the_id_of_a_website_is_no_alias(service: InProcessService) -> None:
    error = refused(service, "/v1/aliases", {"product": "segment", "name": "blog"})

    assert error.startswith("'name' is 'blog', which is or looks like an id or key")


def test_a_record_of_another_website_is_not_found_under_this_one(service: InProcessService) -> None:
    goal = made(service, "/v1/goals", {"name": "Trial", "event": "trial"})

    assert service.ask("GET", f"/v1/goals/{goal['id']}", website_id="shop").json["data"] == goal
    reply = service.ask("DELETE", f"/v1/goals/{goal['id']}", key="acme-admin", website_id="blog")
    assert (reply.status, reply.json["error"]) == (404, "No such goal of this website")


def test_a_website_is_named_unless_the_key_has_one(service: InProcessService) -> None:
    made(service, "/v1/goals", {"name": "Trial", "event": "trial"})

    listed = service.ask("GET", "/v1/goals", key="acme-shop").json["data"]
    missing = service.ask("GET", "/v1/goals")

    assert [goal["name"] for goal in listed] == ["Trial"]
    assert (missing.status, missing.json["error"]) == (
        400,
        "'website_id' is missing in the query string, as in ?website_id=…",
    )


def test_a_write_needs_its_scope(service: InProcessService) -> None:
    goal = {"name": "Trial", "event": "trial"}
    record = made(service, "/v1/goals", goal)

    for method, path in (
        ("POST", "/v1/goals"),
        ("PATCH", f"/v1/goals/{record['id']}"),
        ("DELETE", f"/v1/goals/{record['id']}"),
    ):
        reply = service.ask(method, path, goal, key="acme", website_id="shop")
        assert (reply.status, reply.json["error"]) == (
            403,
            "This key lacks the scope 'write:records' or 'manage:websites'",
        )


def test_a_share_is_made_only_by_who_may_read_what_it_shows(service: InProcessService) -> None:
    share = made(service, "/v1/shares", {"name": "For the agency"})
    key, text = new_key("acme", ["manage:websites"], NOW)
    service.store.create(key)
    service.follower.refresh()
    service.keys = {**service.keys, "manager": text}
    one = f"/v1/shares/{share['id']}"

    for method, path, body in (
        ("POST", "/v1/shares", {"name": "Own"}),
        ("PATCH", one, {"filters": []}),
    ):
        reply = service.ask(method, path, body, key="manager", website_id="shop")
        assert (reply.status, reply.json["error"]) == (403, "This key lacks the scope 'read:data'")
    assert service.ask("DELETE", one, key="manager", website_id="shop").status == 200


def test_an_unknown_member_is_refused(service: InProcessService) -> None:
    assert refused(service, "/v1/goals", {"name": "a", "event": "e", "filter": []}) == (
        "Unknown member 'filter' in the body; did you mean 'filters'?"
    )


def test_a_changed_record_keeps_the_rules(service: InProcessService) -> None:
    goal = made(service, "/v1/goals", {"name": "Trial", "event": "trial"})
    path = f"/v1/goals/{goal['id']}"

    reply = service.ask("PATCH", path, {"path": "/trial"}, key="acme-admin")

    assert (reply.status, reply.json["error"]) == (
        400,
        "A goal has either 'event' or 'path'; give one of them",
    )
    assert service.ask("GET", path, key="acme-admin").json["data"] == goal


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *((each.path, each.example) for each in SAVED_TYPES),
        ("/v1/keys", {"scopes": ["read:data"], "websiteId": "blog"}),
        ("/v1/imports", {"name": "old", "websiteId": "blog"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_created_while_its_website_is_deleted_is_refused_as_a_moment_later(
    service: InProcessService, path: str, body: Any
) -> None:
    """This process has not seen the deletion, which another one made, when it authorizes."""
    own = {} if "websiteId" in body else {"website_id": "blog"}
    service.store.delete(Website, "blog")

    racing, later = (service.ask("POST", path, body, key="acme-admin", **own) for _ in range(2))

    assert (racing.status, racing.json["code"]) == (later.status, later.json["code"])
    assert later.json["error"].startswith(racing.json["error"])  # and says what the key is for
    assert (later.status, later.json["code"]) == (403, "ACCESS_DENIED")


def audited(service: InProcessService) -> int:
    """The number of the newest change."""
    return service.store.changes(1)[0].number


@KINDS
def test_a_body_without_a_field_changes_nothing(
    service: InProcessService, saved: SavedType
) -> None:
    record = made(service, saved.path, saved.example)
    before = audited(service)

    reply = service.ask("PATCH", f"{saved.path}/{record['id']}", {}, key="acme-admin")

    assert (reply.status, audited(service)) == (400, before)
    assert reply.json["error"].startswith("The body has nothing to change; give at least one of '")


@KINDS
def test_equal_values_are_no_change(service: InProcessService, saved: SavedType) -> None:
    record = made(service, saved.path, saved.example)
    before = audited(service)
    shown = {name: v for name, v in saved.example.items() if name not in ("password", "address")}

    reply = service.ask("PATCH", f"{saved.path}/{record['id']}", shown, key="acme-admin")

    assert (reply.status, audited(service)) == (200, before)
    assert reply.json["data"]["updatedAt"] == record["updatedAt"]
