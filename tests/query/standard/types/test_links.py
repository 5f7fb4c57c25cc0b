"""Referrers of a link's clicks."""

from tests.query.lake import a_click
from tests.query.query_service import InProcessService


def test_referrers_of_a_day_are_counted_once(service: InProcessService) -> None:
    service.holds(
        a_click(referrer_name="X"),
        a_click(referrer_name="X"),
        a_click(referrer_name="Google"),
        a_click(referrer_name="Direct"),
    )
    span = {"startDate": "2026-11-09", "endDate": "2026-11-10"}

    assert service.rows("link_referrers_by_day", subject="link:go", **span) == [
        {"date": "2026-11-09", "value": 0},
        {"date": "2026-11-10", "value": 2},
    ]
