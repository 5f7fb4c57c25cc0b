"""Facts of the visit in custom queries: of every row of the visit, in every table with sessions."""

from typing import Any

import pytest

from tests.query.custom_queries import COUNT, rows
from tests.query.lake import a_view, a_vital, an_engagement, an_error, an_event, an_outbound_click
from tests.query.query_service import InProcessService

LATER = "2026-11-10T12:05:00Z"
BUY = [{"field": "name", "operator": "eq", "value": "purchase"}]
SUM = {"field": "properties.total", "aggregate": "sum", "alias": "revenue"}


def purchase(session: str | None, total: float) -> Any:
    """A purchase whose own row has no source, as the tracker sends it."""
    properties = f'{{"total": {total}}}'
    more = {"at": LATER, "channel": "Direct", "properties": properties}
    return an_event("purchase", session=session, **more)


def test_purchases_belong_to_the_campaign_of_their_visit(service: InProcessService) -> None:
    service.holds(
        a_view("/", session="s1", utm_campaign="brand", channel="Paid Search"),
        a_view("/pay", session="s1", at="2026-11-10T12:01:00Z", channel="Direct"),
        purchase("s1", 10),
        purchase("s1", 20),
        a_view("/", session="s2", utm_campaign="sale", channel="Email"),
        purchase("s2", 5),
        a_view("/", session="s3", channel="Direct"),
        purchase("s3", 1),
        purchase(None, 2),
    )

    by_campaign = rows(service, "events", COUNT, SUM, filters=BUY, groupBy=["utm_campaign"])
    by_channel = rows(service, "events", COUNT, SUM, filters=BUY, groupBy=["visit.channel"])
    by_own = rows(service, "events", COUNT, filters=BUY, groupBy=["event.channel"])

    assert by_campaign == [
        {"utm_campaign": "brand", "n": 2, "revenue": 30},
        {"utm_campaign": None, "n": 2, "revenue": 3},
        {"utm_campaign": "sale", "n": 1, "revenue": 5},
    ]
    assert by_channel == [
        {"visit.channel": "Direct", "n": 2, "revenue": 3},
        {"visit.channel": "Paid Search", "n": 2, "revenue": 30},
        {"visit.channel": "Email", "n": 1, "revenue": 5},
    ]
    assert by_own == [{"event.channel": "Direct", "n": 5}]


@pytest.mark.parametrize("table", ["errors", "vitals", "engagement", "outbound"])
def test_every_table_with_sessions_knows_the_visit(service: InProcessService, table: str) -> None:
    service.holds(
        a_view("/in", session="s1", utm_campaign="brand", channel="Email"),
        a_view("/in", session="s2", channel="Direct"),
        an_error("boom", session="s1"),
        an_error("boom", session="s2"),
        a_vital("LCP", 1, session="s1"),
        a_vital("LCP", 2, session="s2"),
        an_engagement(session="s1"),
        an_engagement(session="s2"),
        an_outbound_click("https://x.example/", session="s1", at=LATER),
        an_outbound_click("https://x.example/", session="s2", at=LATER),
    )
    of_brand = [{"field": "utm_campaign", "operator": "eq", "value": "brand"}]
    entries = {"field": "visit.entry_page", "aggregate": "uniq"}

    found = rows(service, table, COUNT, entries, filters=of_brand, groupBy=["channel"])
    answer = service.custom(table, [COUNT], filters=of_brand).json

    assert found == [{"channel": "Email", "n": 1, "uniq_visit_entry_page": 1}]
    own = "events" if table == "outbound" else table
    assert sorted(answer["meta"]["versions"]) == sorted({own, "events"})


def test_a_table_is_read_alone_unless_the_visit_is_named(service: InProcessService) -> None:
    service.holds(a_view("/"), an_error("boom"))

    assert service.custom("errors", [COUNT]).json["meta"]["versions"] == {"errors": 1}


def test_facts_come_from_before_the_time_range(service: InProcessService) -> None:
    service.holds(
        a_view("/in", session="s1", at="2026-10-31T23:50:00Z", channel="Email"),
        a_view("/out", session="s1", at="2026-11-01T00:10:00Z", channel="Direct"),
    )
    facts = ["channel", "entry_path", "visit.landing_host", "visit.exit_page"]

    [session] = rows(service, "sessions", groupBy=facts)

    assert [session[fact] for fact in facts] == ["Email", "/in", None, "/out"]


def test_filters_on_sessions_keep_whole_sessions(service: InProcessService) -> None:
    service.holds(
        a_view("/", session="s1", channel="Email"),
        a_view("/b", session="s1", at=LATER, channel="Direct"),
        a_view("/", session="s2", channel="Direct"),
    )
    views = {"field": "page_views", "aggregate": "sum", "alias": "views"}
    bounces = {"field": "is_bounce", "aggregate": "avg", "alias": "bounce"}
    email = [{"field": "visit.channel", "operator": "eq", "value": "Email"}]

    assert rows(service, "sessions", views, bounces, filters=email) == [{"views": 2, "bounce": 0}]
    assert rows(service, "sessions", bounces) == [{"bounce": 0.5}]


def test_an_explanation_names_both_tables_and_no_file(service: InProcessService) -> None:
    service.holds(a_view("/", session="s1"), an_error("boom", session="s1"))
    query = {"table": "errors", "selects": [COUNT], "groupBy": ["visit.channel"]}
    body = {"query": query, "preset": "last_30d"}

    explained = service.ask("POST", "/v1/query/compile", body, website_id="shop").json

    assert [table["name"] for table in explained["tables"]] == ["errors", "events"]
    assert str(service.data) not in str(explained)
    assert ".parquet" not in str(explained)


def test_hours_and_weekdays_are_groups_in_the_zone(service: InProcessService) -> None:
    service.holds(
        a_view("/", at="2026-11-01T22:30:00Z"),  # Sunday, 23:30 in Berlin
        a_view("/", at="2026-11-01T23:30:00Z"),  # Monday, 00:30
        a_view("/", at="2026-11-09T23:30:00Z"),  # Tuesday, 00:30
    )
    groups = ["time:monthly", "time:day_of_week", "time:hour_of_day"]
    order = [{"field": "day_of_week", "direction": "asc"}]
    query = {"table": "events", "selects": [COUNT], "groupBy": groups, "orderBy": order}
    body = {"query": query, "startDate": "2026-11-01", "endDate": "2026-11-30"}
    body["timezone"] = "Europe/Berlin"

    found = service.ask("POST", "/v1/query/custom", body, website_id="shop").json["data"]

    november = "2026-11-01"
    assert found == [
        {"date": november, "day_of_week": 1, "hour_of_day": 0, "n": 1},
        {"date": november, "day_of_week": 2, "hour_of_day": 0, "n": 1},
        {"date": november, "day_of_week": 7, "hour_of_day": 23, "n": 1},
    ]


def test_visits_and_rows_are_told_apart_in_the_list(service: InProcessService) -> None:
    listed = service.ask("GET", "/v1/query/tables", key=None).json
    columns = {
        (table["name"], column["name"]): (column["scope"], column["aliasOf"])
        for table in listed["tables"]
        for column in table["columns"]
    }

    assert columns["events", "path"] == ("row", None)
    assert columns["events", "event.channel"] == ("row", None)
    assert columns["events", "visit.channel"] == ("visit", None)
    assert columns["events", "channel"] == ("visit", "visit.channel")
    assert columns["sessions", "entry_path"] == ("visit", None)
    assert columns["sessions", "visit.entry_page"] == ("visit", "entry_path")
    assert columns["clicks", "channel"] == ("row", None)
    assert {"time:hour_of_day", "time:day_of_week"} <= set(listed["timeBuckets"])
