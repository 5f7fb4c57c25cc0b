"""Errors by group, and the share of sessions with one."""

from typing import Any

from tests.query.lake import a_view, an_error
from tests.query.query_service import NOVEMBER, InProcessService
from tests.query.times import at


def test_the_error_rate_is_of_sessions(service: InProcessService) -> None:
    service.holds(
        *(a_view("/", session=f"s{n}") for n in range(1, 5)),
        an_error("boom", session="s1"),
        an_error("boom", session="s1", visitor="u2"),
    )

    assert service.rows("error_summary") == [
        {
            "totalErrors": 2,
            "uniqueErrorTypes": 1,
            "affectedUsers": 2,
            "affectedSessions": 1,
            "errorRate": 25.0,
        }
    ]
    # the website's sessions know no messages: that filter is for errors only
    other = [{"field": "message", "op": "eq", "value": "other"}]
    assert service.rows("error_summary", filters=other)[0]["errorRate"] == 0.0


def test_errors_of_one_place_are_a_group(service: InProcessService) -> None:
    where: dict[str, Any] = {"error_type": "TypeError", "filename": "a.js", "lineno": 7}
    service.holds(
        an_error("boom", at=at("12:00:00"), path="/old", stack="s1", **where),
        an_error("boom", at=at("13:00:00"), path="/new", stack="s2", visitor="u2", **where),
        an_error("boom", at=at("12:30:00"), path="/new"),
    )

    assert [tuple(row.values()) for row in service.rows("error_fingerprints")] == [
        (
            "boom",
            2,
            2,
            1,
            "/new",
            "TypeError",
            "a.js",
            7,
            "s2",
            "2026-11-10T12:00:00.000Z",
            "2026-11-10T13:00:00.000Z",
        ),
        (
            *("boom", 1, 1, 1, "/new", None, None, None, None),
            "2026-11-10T12:30:00.000Z",
            "2026-11-10T12:30:00.000Z",
        ),
    ]


def test_messages_with_other_numbers_are_one_group(service: InProcessService) -> None:
    service.holds(
        an_error("no order 1", at=at("12:00:00"), path="/old", stack="s1", lineno=7),
        an_error("no order 2", at=at("13:00:00"), path="/new", stack="s2", lineno=7, visitor="u2"),
        an_error("no order 3", at=at("14:00:00"), lineno=8),
    )

    def groups(**options: str) -> list[tuple[Any, ...]]:
        rows = service.rows({"name": "error_fingerprints", **options})
        return [tuple(row[n] for n in ("name", "line", "count", "users", "stack")) for row in rows]

    assert groups(by="message_pattern") == [
        ("no order #", 7, 2, 2, "s2"),
        ("no order #", 8, 1, 1, None),
    ]
    assert groups(by="message") == groups()
    assert [group[0] for group in groups()] == ["no order 1", "no order 2", "no order 3"]
    assert service.rows({"name": "error_types", "by": "message_pattern"}) == [
        {"name": "no order #", "count": 3, "users": 2, "last_seen": "2026-11-10T14:00:00.000Z"}
    ]
    [entry] = service.query({"name": "error_types", "by": "file"}).json["data"]
    assert "by" in entry["error"]


def test_a_pattern_is_a_filter_and_a_dimension(service: InProcessService) -> None:
    service.holds(
        an_error("no order 1", visitor="u1"),
        an_error("no order 2", visitor="u2"),
        an_error("no user 3", visitor="u3"),
    )
    is_order = [{"field": "message_pattern", "operator": "eq", "value": "no order #"}]
    metrics = {"metrics": ["errors", "affected_visitors"], "filters": is_order, **NOVEMBER}

    by_pattern = {**metrics, "dimensions": ["message_pattern"]}
    [group] = service.ask("POST", "/v1/query/metrics", by_pattern, website_id="shop").json["data"]
    assert group == {"message_pattern": "no order #", "errors": 2, "affected_visitors": 2}
    newest = service.rows("recent_errors", filters=is_order)
    assert sorted(row["message"] for row in newest) == ["no order 1", "no order 2"]
