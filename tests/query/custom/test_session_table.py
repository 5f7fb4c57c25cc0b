"""The table of sessions, which is computed from events."""

from tests.query.custom_queries import rows
from tests.query.lake import (
    a_view,
    an_event,
)
from tests.query.query_service import InProcessService


def test_sessions_are_computed_from_their_events(service: InProcessService) -> None:
    service.holds(
        an_event("hello", visitor="u1", session="s1", at="2026-11-10T11:59:58Z", country="DE"),
        a_view("/in", visitor="u1", session="s1", at="2026-11-10T12:00:00Z", country="FR"),
        a_view("/out", visitor="u1", session="s1", at="2026-11-10T12:01:00.500Z"),
        an_event("signup", visitor="u1", session="s1", at="2026-11-10T12:02:00Z", path="/x"),
        a_view("/in", visitor="u2", session="s2", at="2026-11-10T13:00:00Z"),
        an_event("signup", visitor="u3", session="s3"),
    )
    columns = [
        "session_id",
        "entry_path",
        "exit_path",
        "country",
        "is_bounce",
    ]
    selects = [
        {"field": "duration", "aggregate": "sum", "alias": "duration"},
        {"field": "page_views", "aggregate": "sum", "alias": "page_views"},
        {"field": "events", "aggregate": "sum", "alias": "events"},
        {"field": "started_at", "aggregate": "min", "alias": "started_at"},
        {"field": "ended_at", "aggregate": "max", "alias": "ended_at"},
    ]

    assert rows(service, "sessions", *selects, groupBy=columns) == [
        {
            "session_id": "s1",
            "entry_path": "/in",
            "exit_path": "/out",
            "country": "FR",
            "is_bounce": False,
            "duration": 122.0,
            "page_views": 2,
            "events": 4,
            "started_at": "2026-11-10T11:59:58.000Z",
            "ended_at": "2026-11-10T12:02:00.000Z",
        },
        {
            "session_id": "s2",
            "entry_path": "/in",
            "exit_path": "/in",
            "country": None,
            "is_bounce": True,
            "duration": 0.0,
            "page_views": 1,
            "events": 1,
            "started_at": "2026-11-10T13:00:00.000Z",
            "ended_at": "2026-11-10T13:00:00.000Z",
        },
    ]


def test_sessions_agree_with_the_summary(service: InProcessService) -> None:
    service.holds(
        a_view("/", session="s1"), a_view("/", session="s2"), an_event("signup", session="s2")
    )
    bounced = [{"field": "is_bounce", "operator": "eq", "value": True}]

    assert rows(service, "sessions") == [{"n": 2}]
    assert rows(service, "sessions", filters=bounced) == [{"n": 1}]
    assert service.rows("summary")[0]["bounce_rate"] == 50.0
