"""Saved goals as steps and in what visitors did, by `goal` or by a `name` that may be one."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.metrics_queries import save
from tests.query.query_service import NOVEMBER, InProcessService, start_service

GERMAN = {"field": "country", "operator": "eq", "value": "DE"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """Three signups, one of them German: only that completes the saved goal `Signup`."""
    service = start_service(tmp_path_factory.mktemp("goals"))
    for visitor, country in (("a", "DE"), ("b", "US"), ("c", "US")):
        service.holds(
            a_view("/", visitor=visitor, session=visitor, country=country),
            an_event(
                "Signup",
                visitor=visitor,
                session=visitor,
                country=country,
                at="2026-11-10T12:01:00Z",
            ),
        )
    service.holds(a_view("/thanks", visitor="a", session="a", at="2026-11-10T12:02:00Z"))
    save(service, "goals", name="Signup", event="Signup", filters=[GERMAN])
    save(service, "goals", name="Thanked", path="/th*")
    return service


def reached(service: InProcessService, *steps: Any) -> list[tuple[str, int]]:
    rows = service.rows({"name": "funnel", "steps": list(steps)})
    return [(row["name"], row["visitors"]) for row in rows]


def counted(service: InProcessService, behavior: Any, word: str = "has_done") -> int:
    [row] = service.rows("summary", filters=[{word: behavior}])
    count: int = row["unique_visitors"]
    return count


def test_a_saved_goal_is_a_step(service: InProcessService) -> None:
    assert reached(service, {"path": "/"}, {"goal": "Signup"}, {"goal": "Thanked"}) == [
        ("/", 3),
        ("Signup", 1),
        ("Thanked", 1),
    ]
    assert reached(service, {"path": "/"}, {"event": "Signup"}) == [("/", 3), ("Signup", 3)]


def test_a_name_is_a_saved_goal_before_it_is_a_path_or_an_event(service: InProcessService) -> None:
    assert reached(service, {"name": "/"}, {"name": "Signup"}, {"name": "Thanked"}) == [
        ("/", 3),
        ("Signup", 1),
        ("Thanked", 1),
    ]
    assert service.rows({"name": "goals", "goals": [{"name": "Signup"}]})[0]["conversions"] == 1


@pytest.mark.parametrize(
    ("behavior", "visitors"),
    [
        ({"goal": "Signup"}, 1),
        ({"name": "Signup"}, 1),
        ({"event": "Signup"}, 3),
        ({"name": "Thanked", "within": "ever"}, 1),
        ({"name": "/"}, 3),
        ({"goal": "Signup", "times": 2}, 0),
        ({"goal": "Thanked", "filters": [{**GERMAN, "value": "US"}]}, 0),
    ],
)
def test_visitors_are_kept_by_a_goal_that_they_completed(
    service: InProcessService, behavior: Any, visitors: int
) -> None:
    assert counted(service, behavior) == visitors
    assert counted(service, behavior, "has_not_done") == 3 - visitors


def test_metrics_custom_queries_and_exports_take_goals_too(service: InProcessService) -> None:
    filters = [{"has_done": {"goal": "Signup"}}]
    count = [{"field": "*", "aggregate": "count", "alias": "n"}]
    body = {"metrics": ["events"], "filters": filters, **NOVEMBER}

    metrics = service.ask("POST", "/v1/query/metrics", body, website_id="shop").json
    custom = service.custom("events", count, filters=filters).json

    assert metrics["data"] == [{"events": 3}]
    assert custom["data"] == [{"n": 3}]


def error(service: InProcessService, step: Any) -> str:
    [entry] = service.query({"name": "goals", "goals": [step]}).json["data"]
    assert entry["success"] is False
    return str(entry["error"])


def test_a_name_that_is_nearly_a_goal_is_refused_with_both_readings(
    service: InProcessService,
) -> None:
    assert error(service, {"name": "signup"}) == (
        "'parameters[0].goals[0]' is 'signup': the event 'signup', or the saved goal 'Signup'? "
        "Give {'event': 'signup'} or {'goal': 'Signup'}"
    )
    reply = service.query("summary", filters=[{"has_done": {"name": "SIGNUP"}}])
    assert (reply.status, "or the saved goal 'Signup'?" in reply.json["error"]) == (400, True)


def test_an_unknown_goal_and_two_members_are_refused(service: InProcessService) -> None:
    assert error(service, {"goal": "Sinup"}) == (
        "Unknown goal 'Sinup' in 'parameters[0].goals[0]'; did you mean 'Signup'?"
    )
    assert error(service, {"goal": "Signup", "event": "Signup"}) == (
        "'parameters[0].goals[0]' has both 'event' and 'goal'; give one of them"
    )


def test_a_saved_segment_may_name_a_goal(service: InProcessService) -> None:
    save(service, "segments", name="Signed up", filters=[{"has_done": {"goal": "Signup"}}])
    save(service, "segments", name="Others", filters=[{"not": {"has_done": {"goal": "Signup"}}}])

    found = [service.rows("summary", filters=[{"segment": s}]) for s in ("Signed up", "Others")]

    assert [row["unique_visitors"] for [row] in found] == [1, 2]


def test_a_goal_of_a_segment_that_was_deleted_is_named(service: InProcessService) -> None:
    save(service, "segments", name="Left", filters=[{"has_done": {"goal": "Gone"}}])

    reply = service.query("summary", filters=[{"segment": "Left"}])

    assert reply.status == 400
    assert reply.json["error"] == (
        "Unknown goal 'Gone' in 'filters[0].segment.filters[0].has_done'; known are Signup, Thanked"
    )
