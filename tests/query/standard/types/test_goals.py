"""goals by the id or name of saved goals, and paths with wildcards."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from query.standard.types.goals import MAX_GOALS
from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService, reused, start_service

GERMAN = {"field": "country", "operator": "eq", "value": "DE"}


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(
        a_view("/", visitor="a", country="DE"),
        a_view("/order/1/done", visitor="a", country="DE"),
        a_view("/order/2_%/done", visitor="b", country="US"),
        a_view("/order/1", visitor="c", country="DE"),
        an_event("trial", visitor="a", country="DE"),
        an_event("trial", visitor="b", country="US"),
    )
    return service


def save(service: InProcessService, website: str = "shop", **body: Any) -> str:
    reply = service.ask("POST", "/v1/goals", body, key="acme-admin", website_id=website)
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def conversions(service: InProcessService, *goals: object) -> dict[str, int]:
    parameter = {"name": "goals", "goals": goals} if goals else "goals"
    return {row["name"]: row["conversions"] for row in service.rows(parameter)}


def test_saved_goals_stand_beside_goals_of_the_request(service: InProcessService) -> None:
    order = save(service, name="Order", path="/order/*/done")
    save(service, name="Trial", event="trial", filters=[GERMAN])

    assert conversions(
        service,
        {"goal": order},
        {"goal": "Trial"},
        {"goal": "Trial", "label": "US trial", "filters": [{**GERMAN, "value": "US"}]},
        {"event": "trial"},
    ) == {"Order": 2, "Trial": 1, "US trial": 0, "trial": 2}


def test_without_goals_all_saved_ones_are_counted(service: InProcessService) -> None:
    save(service, name="Trial", event="trial")
    save(service, name="Home", path="/")
    save(service, name="Elsewhere", event="trial", website="blog")

    assert conversions(service) == {"Trial": 2, "Home": 1}


@pytest.mark.parametrize(
    ("path", "count"),
    [("/order/1", 1), ("/order/*", 3), ("*/done", 2), ("/order/*_%/*", 1), ("*", 4), ("/_", 0)],
)
def test_a_wildcard_stands_for_any_characters(
    service: InProcessService, path: str, count: int
) -> None:
    assert conversions(service, {"path": path}) == {path: count}


def test_a_slash_at_the_end_of_a_path_is_none_of_the_page(service: InProcessService) -> None:
    steps = [{"path": "/order/1/"}, {"path": "/order/1/done/"}]

    assert conversions(service, {"path": "/order/1/"}) == {"/order/1/": 1}
    assert service.rows({"name": "funnel", "steps": steps})[0]["visitors"] == 1
    assert service.results is not None
    asyncio.run(service.results.make_pending())
    assert conversions(service, {"path": "/order/1/"}, {"path": "/"}) == {"/order/1/": 1, "/": 1}


def error_of(service: InProcessService, parameter: object) -> str:
    (entry,) = service.query(parameter).json["data"]
    assert (entry["success"], entry["code"]) == (False, "VALIDATION_ERROR")
    return str(entry["error"])


def test_a_mistake_fails_this_query(service: InProcessService) -> None:
    assert error_of(service, "goals") == (
        "'parameters[0].goals' is missing, and the website has no saved goals"
    )
    save(service, name="Trial", event="trial")
    unknown = {"name": "goals", "goals": [{"event": "trial"}, {"goal": "Trail"}]}
    assert error_of(service, unknown) == (
        "Unknown goal 'Trail' in 'parameters[0].goals[1]'; did you mean 'Trial'?"
    )
    both = {"name": "goals", "goals": [{"goal": "Trial", "event": "trial"}]}
    assert error_of(service, both) == (
        "'parameters[0].goals[0]' has both 'event' and 'goal'; give one of them"
    )
    for n in range(MAX_GOALS):
        save(service, name=f"Goal {n}", event="trial")
    assert error_of(service, "goals") == (
        f"'parameters[0].goals' is missing, and the website has {MAX_GOALS + 1} saved goals; "
        f"name at most {MAX_GOALS} of them"
    )


def test_visitors_of_a_saved_goal_are_listed(service: InProcessService) -> None:
    save(service, name="Order", path="/order/*/done")

    def names(**of: Any) -> list[str]:
        rows = service.rows({"name": "visitors", "of": {"name": "goals", "goal": "Order", **of}})
        return sorted(row["visitor_id"] for row in rows)

    assert names() == ["a", "b"]
    assert names(goals=[{"goal": "Order", "filters": [GERMAN]}]) == ["a"]
    assert names(outcome="not_converted") == ["c"]


def test_a_conversion_belongs_to_the_first_touch_or_the_last(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    for visitor, channels in (("a", ("Email", "Direct")), ("b", ("Direct",)), ("c", ("Email",))):
        for number, channel in enumerate(channels):
            visit: dict[str, Any] = {"visitor": visitor, "session": f"{visitor}{number}"}
            hour = f"2026-11-10T1{number}"
            service.holds(a_view("/", channel=channel, at=f"{hour}:00:00Z", **visit))
        if visitor != "c":
            service.holds(an_event("trial", at=f"{hour}:00:10Z", **visit))

    def by(**own: Any) -> list[tuple[Any, ...]]:
        goals = {"name": "goals", "goals": [{"event": "trial"}], "breakdown": "visit.channel"}
        columns = ("breakdown", "conversions", "visitors", "conversion_rate")
        return [tuple(row[name] for name in columns) for row in service.rows({**goals, **own})]

    assert by() == [("Direct", 2, 2, 100.0), ("Email", 0, 0, 0.0)]
    assert by(attribution="last_touch") == by()
    assert by(attribution="first_touch") == [("Email", 1, 1, 50.0), ("Direct", 1, 1, 100.0)]


def test_an_attribution_needs_a_breakdown(service: InProcessService) -> None:
    goals = {"name": "goals", "goals": [{"event": "trial"}], "attribution": "first_touch"}

    entry = service.query(goals).json["data"][0]

    assert entry["error"] == "'attribution' needs 'breakdown', such as 'visit.channel'"


def test_the_values_of_conversions_are_added_up(service: InProcessService) -> None:
    service.holds(
        an_event("order", properties='{"total": 10.5}', channel="Email"),
        an_event("order", visitor="u2", properties='{"total": 4}'),
        an_event("order", visitor="u3", properties='{"total": "free"}'),
        an_event("trial"),
    )
    goals = [
        {"event": "order", "value": "properties.total"},
        {"event": "trial", "value": "properties.total", "label": "worthless"},
        {"event": "trial"},
    ]

    def values(**more: object) -> list[tuple[object, ...]]:
        rows = service.rows({"name": "goals", "goals": goals, **more})
        return [(row.get("breakdown"), row["name"], row["value"]) for row in rows]

    assert values() == [(None, "order", 14.5), (None, "worthless", 0.0), (None, "trial", None)]
    assert values(breakdown="event.channel", breakdown_limit=1)[0] == (None, "order", 4.0)


def test_a_step_of_a_funnel_has_no_value(service: InProcessService) -> None:
    steps = [{"event": "order", "value": "properties.total"}, {"event": "trial"}]

    assert "value" in error_of(service, {"name": "funnel", "steps": steps})
