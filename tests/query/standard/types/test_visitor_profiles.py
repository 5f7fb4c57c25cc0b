"""A visitor over all sessions."""

from tests.query.lake import a_view, a_vital, an_event
from tests.query.query_service import InProcessService
from tests.query.times import at


def test_a_profile_is_one_visitor_over_all_sessions(service: InProcessService) -> None:
    service.holds(
        a_view("/a", session="s1", country="DE", at=at("12:00:00")),
        an_event("signup", session="s1", at=at("12:01:05")),
        a_view("/b", session="s2", country="FR", at=at("14:00:00")),
        a_vital("LCP", 1200.5, session="s2", at=at("14:00:01")),
        a_view("/", visitor="u2", session="s3"),
    )
    one = [{"field": "anonymous_id", "op": "eq", "value": "u1"}]

    [detail] = service.rows("profile_detail", filters=one)
    assert (detail["total_sessions"], detail["total_pageviews"], detail["country"]) == (2, 2, "FR")
    assert (detail["total_duration"], detail["total_duration_formatted"]) == (65.0, "1m 5s")
    newest, oldest = service.rows("profile_sessions", filters=one)
    assert (newest["session_name"], oldest["session_name"]) == ("Session 2", "Session 1")
    assert newest["web_vitals"] == [["2026-11-10T14:00:01.000Z", "LCP", 1200.5, "/"]]
    assert [event[2] for event in oldest["events"]] == ["screen_view", "signup"]
    assert [row["visitor_id"] for row in service.rows("profile_list")] == ["u1", "u2"]


def test_each_visitor_has_the_duration_of_its_own_sessions(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1", session="s1", at=at("12:00:00")),
        an_event("signup", visitor="u1", session="s1", at=at("12:01:00")),
        a_view("/", visitor="u2", session="s2", at=at("12:00:00")),
        an_event("signup", visitor="u2", session="s2", at=at("12:00:20")),
        an_event("signup", visitor="u3", session=None, at=at("12:00:30")),
    )
    all_three = [{"field": "anonymous_id", "op": "in", "value": ["u1", "u2", "u3"]}]

    rows = service.rows("profile_detail", filters=all_three)

    durations = {row["visitor_id"]: row["total_duration"] for row in rows}
    assert durations == {"u1": 60.0, "u2": 20.0, "u3": 0.0}


def test_a_required_filter_names_what_is_kept(service: InProcessService) -> None:
    others = [{"field": "anonymous_id", "op": "ne", "value": "u1"}]

    [entry] = service.query("profile_sessions", filters=others).json["data"]

    assert entry["error"] == (
        "The required filter on 'anonymous_id' must have the operator 'eq' or 'in'"
    )
