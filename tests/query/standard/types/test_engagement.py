"""Scroll depth and interactions."""

from decimal import Decimal

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService


def test_scroll_depth_is_grouped_by_quarters(service: InProcessService) -> None:
    depths = (Decimal(0), Decimal(10), Decimal(25), Decimal("74.9"), Decimal(75), Decimal(100))
    service.holds(
        *(
            a_view("/a", scroll_depth=depth, visitor=f"u{n}", session=f"s{n}")
            for n, depth in enumerate(depths)
        )
    )

    assert [tuple(row.values()) for row in service.rows("scroll_depth_distribution")] == [
        ("0-25%", 1, 1, 20.0),
        ("25-50%", 1, 1, 20.0),
        ("50-75%", 1, 1, 20.0),
        ("75-100%", 2, 2, 40.0),
    ]
    # five of them are above 0, and sum up to 284.9
    assert service.rows("scroll_depth_summary") == [
        {"avg_scroll_depth": 56.98, "total_sessions": 5, "visitors": 5}
    ]


def test_sessions_that_interact_are_a_share_of_all(service: InProcessService) -> None:
    service.holds(
        a_view("/", interaction_count=3, session="s1"),
        a_view("/", interaction_count=0, session="s1"),
        a_view("/", interaction_count=0, session="s2"),
        a_view("/", session="s3"),
    )

    assert service.rows("interaction_summary") == [
        {
            "avg_interactions": 1.0,
            "interactive_sessions": 1,
            "interaction_rate": 33.33,
            "total_sessions": 3,
        }
    ]


def test_interactions_are_unknown_while_none_is_reported(service: InProcessService) -> None:
    service.holds(a_view("/", session="s1"), a_view("/", session="s2"))

    assert service.rows("interaction_summary") == [
        {
            "avg_interactions": None,
            "interactive_sessions": None,
            "interaction_rate": None,
            "total_sessions": 2,
        }
    ]


def test_reports_without_interactions_are_a_share_of_0(service: InProcessService) -> None:
    service.holds(a_view("/", session="s1", interaction_count=0))

    [row] = service.rows("interaction_summary")

    assert (row["interactive_sessions"], row["interaction_rate"]) == (0, 0.0)


def test_page_views_that_report_are_unknown_while_only_page_exits_do(
    service: InProcessService,
) -> None:
    exits = (an_event("page_exit", path=path, scroll_depth=Decimal(50)) for path in ("/a", "/b"))
    service.holds(a_view("/a"), a_view("/b"), *exits)
    assert [row["pageviews"] for row in service.rows("page_scroll_performance")] == [None, None]

    service.holds(a_view("/a", scroll_depth=Decimal(60)))
    assert {row["name"]: row["pageviews"] for row in service.rows("page_scroll_performance")} == {
        "/a": 1,
        "/b": 0,
    }
