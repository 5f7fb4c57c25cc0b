"""The timeline of one visitor, and the filter without which there is none."""

import pytest

from tests.query.lake import a_view, an_error, an_event
from tests.query.query_service import InProcessService


def at(clock: str) -> str:
    return f"2026-11-10T{clock}Z"


def test_a_timeline_is_of_one_visitor_with_their_errors(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00"), referrer_name="Google"),
        an_event("signup", path="/a", at=at("12:00:10"), properties='{"plan":"pro"}'),
        an_error("boom", path="/a", at=at("12:00:05")),
        a_view("/b", visitor="u2", at=at("12:00:00")),
        an_error("other", visitor="u2", at=at("12:00:00")),
    )
    one = [{"field": "anonymous_id", "op": "eq", "value": "u1"}]

    rows = service.rows("visitor_timeline", filters=one)

    assert [(row["time"][11:19], row["kind"], row["name"]) for row in rows] == [
        ("12:00:00", "page_view", "screen_view"),
        ("12:00:05", "error", "boom"),
        ("12:00:10", "event", "signup"),
    ]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("visitor_timeline", "anonymous_id"),
        ("profile_detail", "anonymous_id"),
        ("profile_sessions", "anonymous_id"),
        ("session_events", "session_id"),
    ],
)
def test_a_missing_filter_fails_its_parameter_alone(
    service: InProcessService, name: str, field: str
) -> None:
    entries = service.query(name, "summary").json["data"]

    assert [entry["success"] for entry in entries] == [False, True]
    assert entries[0]["error"].startswith(f"Missing required filter: '{field}'")
