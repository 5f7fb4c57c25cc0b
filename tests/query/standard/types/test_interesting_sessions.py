"""The score of a session."""

from tests.query.lake import a_view, an_error, an_event, an_outbound_click
from tests.query.query_service import InProcessService
from tests.query.times import at


def test_interesting_sessions_are_scored_by_what_happened(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00")),
        a_view("/b", at=at("12:02:00")),
        an_event("signup", at=at("12:00:30")),
        an_outbound_click("https://x.example/", at=at("12:00:40")),
        an_error("boom", at=at("12:01:00")),
        a_view("/a", session="s2", visitor="u2", at=at("12:00:00")),
    )

    first, second = service.rows("interesting_sessions")

    # 2 views x 2, 2 pages x 3, 2 events, 1 error x 2, and 5 for two minutes
    assert (first["session_id"], first["interesting_score"]) == ("s1", 4 + 6 + 2 + 2 + 5)
    assert (first["paths"], first["custom_event_names"]) == (["/a", "/b"], ["signup"])
    assert (first["duration_seconds"], first["errors"]) == (120, 1)
    assert (second["session_id"], second["interesting_score"]) == ("s2", 2 + 3)
