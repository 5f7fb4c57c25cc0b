"""Scroll depth and interactions."""

from decimal import Decimal

from tests.query.lake import Stored, a_view, an_event
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


def test_the_depth_of_a_page_view_is_the_greatest_that_it_reported(
    service: InProcessService,
) -> None:
    def left(at: str, depth: float, clicks: int, path: str = "/a", session: str = "s1") -> Stored:
        moment = f"2026-11-10T{at}Z"
        seen = Decimal(str(depth))
        return an_event(
            "page_exit",
            path=path,
            at=moment,
            session=session,
            scroll_depth=seen,
            interaction_count=clicks,
        )

    service.holds(
        a_view("/a", at="2026-11-10T09:00:00Z", scroll_depth=Decimal(10)),
        left("09:00:20", 20, 1),
        left("09:00:40", 40, 2),
        left("09:01:00", 90, 0),
        a_view("/b", at="2026-11-10T09:01:00Z"),
        left("09:02:00", 0, 0, "/b"),
        a_view("/a", at="2026-11-10T09:02:00Z"),
        left("09:03:00", 30, 4),
        # a page view before the time range
        left("09:00:20", 50, 1, "/old", "s2"),
        left("09:00:50", 70, 0, "/old", "s2"),
    )

    # 90, 30 and 70 of those above 0
    assert service.rows("scroll_depth_summary") == [
        {"avg_scroll_depth": 63.33, "total_sessions": 2, "visitors": 1}
    ]
    assert [tuple(row.values())[:3] for row in service.rows("scroll_depth_distribution")] == [
        ("25-50%", 1, 1),
        ("50-75%", 1, 1),
        ("75-100%", 1, 1),
    ]
    assert [tuple(row.values()) for row in service.rows("page_scroll_performance")] == [
        ("/old", 70.0, 1, 1, 1),
        ("/a", 60.0, 1, 1, 2),
    ]
    # 3, 0 and 4 of the one visit; there is no page view in the other
    assert service.rows("interaction_summary") == [
        {
            "avg_interactions": 2.33,
            "interactive_sessions": 1,
            "interaction_rate": 100.0,
            "total_sessions": 1,
        }
    ]
