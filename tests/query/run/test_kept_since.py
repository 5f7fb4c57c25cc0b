"""A result whose time range was partly deleted by age says since when rows are kept."""

from typing import Any

import pytest

from schemas.registry import Organization, Website
from tests.query.lake import an_event
from tests.query.query_service import NOW, InProcessService

# It is 2026-11-30T00:53:20Z: with 20 days, rows are kept from 2026-11-10T00:00Z.


def keeps(service: InProcessService, kind: type[Any], name: str, **days: int) -> None:
    service.store.update(kind, name, NOW, keep_days=days)
    service.follower.refresh()


def since(reply: Any) -> str | None:
    assert reply.status == 200, reply.json
    kept: str | None = reply.json["meta"].get("keptSince")
    return kept


def of_standard(service: InProcessService, start: str = "2026-11-01", **more: Any) -> str | None:
    return since(service.query("summary", startDate=start, **more))


def test_only_ranges_that_begin_earlier_say_so(service: InProcessService) -> None:
    service.holds(an_event())
    assert of_standard(service) is None
    keeps(service, Website, "shop", all=20)

    assert of_standard(service) == "2026-11-10"
    assert of_standard(service, "2026-11-09") == "2026-11-10"
    assert of_standard(service, "2026-11-10") is None
    assert of_standard(service, subject="blog") is None


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Europe/Berlin", "2026-11-11"), ("America/New_York", "2026-11-10"), ("UTC", "2026-11-10")],
)
def test_the_day_is_the_first_whole_one_of_the_zone(
    service: InProcessService, zone: str, day: str
) -> None:
    keeps(service, Website, "shop", all=20)

    assert of_standard(service, timezone=zone) == day
    assert of_standard(service, day, timezone=zone) is None


def test_each_table_has_days_of_its_own(service: InProcessService) -> None:
    keeps(service, Organization, "acme", all=10, clicks=5)
    keeps(service, Website, "shop", vitals=3)
    count = {"aggregate": "count", "field": "*", "alias": "n"}

    assert since(service.custom("events", [count])) == "2026-11-20"
    assert since(service.custom("vitals", [count])) == "2026-11-27"
    assert since(service.custom("clicks", [count])) == "2026-11-25"
    assert since(service.query("link_total_clicks", subject="link:go")) == "2026-11-25"


def test_metrics_say_so_too(service: InProcessService) -> None:
    keeps(service, Website, "shop", events=20)
    body = {"metrics": ["visitors"], "startDate": "2026-11-01", "endDate": "2026-11-30"}

    reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop")

    assert since(reply) == "2026-11-10"


def test_the_compared_range_counts_as_well(service: InProcessService) -> None:
    keeps(service, Website, "shop", all=20)

    compared = of_standard(service, "2026-11-15", compare="previous_period")

    assert compared == "2026-11-10"


def test_the_shortest_of_several_websites_holds(service: InProcessService) -> None:
    keeps(service, Website, "shop", all=20)
    keeps(service, Website, "blog", all=15)

    assert of_standard(service, subject="shop,blog") == "2026-11-15"
