"""Sources of visits: first referrer and campaign."""

from tests.query.lake import a_view
from tests.query.query_service import InProcessService
from tests.query.times import at


def test_a_visit_counts_for_the_source_that_it_came_from(service: InProcessService) -> None:
    service.holds(
        a_view("/", referrer_name="Google", utm_source="ad", at=at("12:00:00")),
        a_view("/b", referrer_name="Direct", at=at("12:01:00")),
        a_view("/c", referrer_name="Direct", session=None, visitor="u2"),
    )

    assert service.rows("traffic") == [
        {"name": "Google", "pageviews": 2, "visitors": 1, "percentage": 50.0},
        {"name": "Direct", "pageviews": 1, "visitors": 1, "percentage": 50.0},
    ]
    assert service.rows("utm_sources") == [
        {"name": "ad", "pageviews": 2, "visitors": 1, "percentage": 100.0}
    ]


def test_a_later_campaign_does_not_change_where_the_visit_came_from(
    service: InProcessService,
) -> None:
    service.holds(
        a_view("/", referrer_name="Google", at=at("12:00:00")),
        a_view("/b", utm_source="ad", referrer_name="X", at=at("12:01:00")),
    )

    assert [row["name"] for row in service.rows("traffic")] == ["Google"]
    assert service.rows("utm_sources") == []


def test_the_source_is_looked_for_before_filters_apply(service: InProcessService) -> None:
    service.holds(
        a_view("/", referrer_name="Google", at=at("12:00:00")),
        a_view("/pricing", referrer_name="Direct", at=at("12:01:00")),
    )
    pricing = [{"field": "path", "op": "eq", "value": "/pricing"}]

    assert service.rows("traffic", filters=pricing) == [
        {"name": "Google", "pageviews": 1, "visitors": 1, "percentage": 100.0}
    ]
