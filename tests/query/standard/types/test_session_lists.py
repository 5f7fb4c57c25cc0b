"""Sessions with their events."""

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService
from tests.query.times import at


def test_a_list_of_sessions_holds_their_events_in_order(service: InProcessService) -> None:
    service.holds(
        a_view("/a", at=at("12:00:00"), event_id="e1", referrer_name="Google"),
        an_event("signup", path="/a", at=at("12:00:05"), event_id="e2", properties='{"n":1}'),
        # the page was visible longer than its only event took
        a_view(
            "/b", session="s2", visitor="u2", at=at("13:00:00"), event_id="e3", time_on_page=40.0
        ),
    )

    newest, oldest = service.rows("session_list")

    assert (newest["session_id"], newest["visitor_id"]) == ("s2", "u2")
    assert (newest["duration"], oldest["duration"]) == (40.0, 5.0)
    assert newest["events"] == [["e3", "2026-11-10T13:00:00.000Z", "screen_view", "/b", None]]
    assert (oldest["page_views"], oldest["referrer"]) == (1, "Google")
    assert oldest["events"] == [
        ["e1", "2026-11-10T12:00:00.000Z", "screen_view", "/a", None],
        ["e2", "2026-11-10T12:00:05.000Z", "signup", "/a", '{"n":1}'],
    ]
