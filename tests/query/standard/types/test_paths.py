"""Paths of sessions, with numbers worked out by hand."""

from typing import Any

from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def walk(service: InProcessService, session: str, *pages: str) -> None:
    for second, page in enumerate(pages):
        service.holds(
            a_view(page, session=session, visitor=session, at=f"2026-11-10T12:00:{second:02}Z")
        )


def ways(service: InProcessService, **own: Any) -> list[tuple[str, int, int, float]]:
    rows = service.rows({"name": "paths", **own})
    return [(row["name"], row["steps"], row["sessions"], row["percentage"]) for row in rows]


def test_ways_collapse_repeats_and_may_have_a_begin_and_an_end(service: InProcessService) -> None:
    walk(service, "s1", "/a", "/b", "/b", "/c", "/d")
    walk(service, "s2", "/a", "/b", "/c")
    walk(service, "s3", "/x", "/a", "/b", "/c")

    assert ways(service, max_steps=3) == [
        ("/a → /b → /c", 3, 2, 66.67),
        ("/x → /a → /b", 3, 1, 33.33),
    ]
    assert ways(service, **{"from": "/b"}) == [
        ("/b → /c", 2, 2, 66.67),
        ("/b → /c → /d", 3, 1, 33.33),
    ]
    assert ways(service, to="/c", max_steps=2) == [("/b → /c", 2, 3, 100.0)]
    assert ways(service, **{"from": "/a", "to": "/c"}) == [("/a → /b → /c", 3, 3, 100.0)]
    assert ways(service, **{"from": "/a", "to": "/d"}, max_steps=3) == []
    assert ways(service, **{"from": "/d", "to": "/a"}) == []


def test_steps_of_sessions_leave_out_reloads(service: InProcessService) -> None:
    walk(service, "s1", "/a", "/a", "/b", "/a", "/b")
    walk(service, "s2", "/b", "/a")

    assert service.rows("session_flow") == [
        {"from_path": "/a", "to_path": "/b", "name": "/a → /b", "transitions": 2, "sessions": 1},
        {"from_path": "/b", "to_path": "/a", "name": "/b → /a", "transitions": 2, "sessions": 2},
    ]
