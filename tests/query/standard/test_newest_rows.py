"""Pages of the newest rows have the same rows as the whole list, by parts and by stored rows."""

from random import Random
from typing import Any

import pytest

from schemas.telemetry.instruments import REGISTRY
from tests.query.lake import Stored, a_view, an_event, an_outbound_click
from tests.query.prepared.test_prepared_results import prepare
from tests.query.query_service import NOVEMBER, InProcessService

NAME = "custom_events_recent"
COUNT = 40
COUNTRY = [{"field": "country", "operator": "eq", "value": "DE"}]
CHANNEL = [{"field": "visit.entry_page", "operator": "eq", "value": "/0"}]


def some_rows() -> list[Stored]:
    """Custom events, four of them in each of few quarters; the path numbers them by time."""
    chance = Random(1)
    rows = []
    for i in range(COUNT):
        at = f"2026-11-{10 + i // 12:02}T{8 + i // 4 % 3:02}:{13 + i % 4:02}:00Z"
        country, session = chance.choice(("DE", "FR")), f"s{i // 3}"
        rows.append(an_event("signup", path=f"/{i}", at=at, session=session, country=country))
    for i in range(0, COUNT, 2):
        at, session = f"2026-11-{10 + i // 12:02}T07:00:00Z", f"s{i // 3}"
        rows.append(a_view(f"/{i % 3}", at=at, session=session))
        rows.append(an_outbound_click("https://x.example/", at=at))
    rows.append(an_event("signup", path="/bot", at="2026-11-29T12:00:00Z", is_bot=True))
    return rows


def entry(service: InProcessService, prepared: str = "true", **more: Any) -> Any:
    body = {"parameters": [NAME], **NOVEMBER, **more}
    [found] = service.ask("POST", "/v1/query", body, website_id="shop", prepared=prepared).json[
        "data"
    ]
    assert found["success"], found
    return found


def pages(service: InProcessService, limit: int, **more: Any) -> list[Any]:
    """The rows of all pages, and none after them."""
    rows: list[Any] = []
    total, number = 1, 1
    while len(rows) < total:
        found = entry(service, limit=limit, page=number, **more)
        total = found["meta"]["totalRows"]
        rows += found["data"]
        number += 1
    after = entry(service, limit=limit, page=number + 1, **more)
    assert (after["data"], after["meta"]["totalRows"]) == ([], total)
    return rows


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param([], marks=pytest.mark.long, id="all"),
        pytest.param(COUNTRY, id="row"),
        pytest.param(CHANNEL, marks=pytest.mark.long, id="visit"),
    ],
)
def test_pages_are_parts_of_the_whole_list(
    service: InProcessService, filters: list[dict[str, Any]]
) -> None:
    service.holds(*some_rows())
    # in an order by a field all rows are read
    by_path: dict[str, Any] = {"orderBy": [{"field": "path", "direction": "asc"}]}
    ordered = entry(service, filters=filters, limit=1_000, **by_path)["data"]
    whole = sorted(ordered, key=lambda row: -int(row["path"][1:]))
    assert 0 < len(whole) <= COUNT
    assert (len(whole) == COUNT) == (not filters)

    for _ in range(2):
        for limit in (1, 7, COUNT, 100):
            assert pages(service, limit, filters=filters) == whole
        assert pages(service, 9, filters=filters, prepared="false") == whole
        prepare(service)


def test_the_page_is_found_by_parts_where_there_are_some(service: InProcessService) -> None:
    def counted() -> list[float]:
        name = "tidemark_list_pages_total"
        found = [REGISTRY.get_sample_value(name, {"source": s}) for s in ("prepared", "rows")]
        return [each or 0 for each in found]

    service.holds(*some_rows())
    prepared, rows = counted()
    entry(service)
    assert counted() == [prepared, rows + 1]
    prepare(service)
    entry(service)
    assert counted() == [prepared + 1, rows + 1]
    entry(service, filters=COUNTRY)
    assert counted() == [prepared + 2, rows + 1]
    entry(service, prepared="false")
    entry(service, filters=[{"field": "path", "operator": "ne", "value": "/0"}])
    assert counted() == [prepared + 2, rows + 3]


def test_rows_of_today_and_of_ranges_within_a_quarter(service: InProcessService) -> None:
    service.holds(*some_rows())
    entry(service)
    prepare(service)
    late = {"received": "2026-11-30T00:10:00Z"}
    service.holds(
        an_event("late", path="/late", at="2026-11-10T08:13:30Z", **late),
        an_event("last", path="/last", at="2026-11-30T00:09:00Z", **late),
    )
    for number in (1, 2, 8):
        found, stored = (
            entry(service, each, limit=6, page=number)["data"] for each in ("true", "false")
        )
        assert found == stored
        assert (number == 1) == ("/last" in [row["path"] for row in found])


def test_a_range_that_cuts_a_quarter(service: InProcessService) -> None:
    """Clocks in Monrovia were 44 minutes and 30 seconds behind UTC until 1972."""
    received = "2026-11-10T00:00:00Z"
    times = {"/before": "00:44:29", "/first": "00:44:30", "/second": "00:44:31"}
    service.holds(
        *(
            an_event("signup", path=path, at=f"1971-06-01T{time}Z", received=received)
            for path, time in times.items()
        )
    )
    day = {"startDate": "1971-06-01", "endDate": "1971-06-01", "timezone": "Africa/Monrovia"}
    for _ in range(2):
        found = entry(service, **day)
        assert [row["path"] for row in found["data"]] == ["/second", "/first"]
        assert found["meta"]["totalRows"] == 2
        prepare(service)


def test_nothing_is_read_where_there_are_no_rows(service: InProcessService) -> None:
    service.holds(a_view("/"))
    for each in ("true", "false"):
        assert entry(service, each)["meta"]["totalRows"] == 0
    prepare(service)
    assert entry(service)["data"] == []
