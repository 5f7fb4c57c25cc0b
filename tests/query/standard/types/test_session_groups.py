"""Sessions by duration and device."""

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService
from tests.query.times import at


def test_sessions_are_grouped_by_duration(service: InProcessService) -> None:
    for n, clock in enumerate(("12:00:29", "12:00:30", "12:04:59", "13:00:00")):
        service.holds(
            a_view("/", session=f"s{n}", at=at("12:00:00")),
            an_event("page_exit", session=f"s{n}", at=at(clock)),
        )

    assert service.rows("session_duration_distribution") == [
        {"duration_range": name, "sessions": 1, "visitors": 1}
        for name in ("0-30s", "1h+", "1m-5m", "30s-1m")
    ]


def test_a_session_is_on_the_device_of_its_first_page_view(service: InProcessService) -> None:
    service.holds(
        an_event("opened", session="s1", at=at("11:59:59")),
        a_view("/", session="s1", device_type="mobile", at=at("12:00:00")),
        a_view("/b", session="s1", device_type="desktop", at=at("12:01:00")),
        a_view("/", session="s2", at=at("12:00:00")),
    )

    assert service.rows("sessions_by_device") == [
        {"name": "Unknown", "sessions": 1, "visitors": 1, "avg_session_duration": 0.0},
        {"name": "mobile", "sessions": 1, "visitors": 1, "avg_session_duration": 61.0},
    ]
