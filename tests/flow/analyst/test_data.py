"""Questions of an analyst: is it complete and fresh, how do I get it out, what do I save."""

import csv
import io
import json
from datetime import date, timedelta

import duckdb
import pytest
from deltalake import DeltaTable
from openpyxl import load_workbook

from tests.flow.analyst.shop import ALL, LIVE, Shop, is_
from tests.flow.analyst.shop_traffic import FIRST_DAY, FIRST_LIVE_DAY, LAST_DAY, TODAY, first_ms
from tests.flow.analyst.truth import Truth, grouped, people
from tests.flow.tenant import CHROME_USER_AGENT, Tenant
from tests.http_client import call
from tests.installation import Installation, eventually
from tests.oracle.aggregates import percent


def test_what_happens_at_this_moment(stack: Installation) -> None:
    tenant = Tenant.create(stack)
    view = {"name": "screen_view", "sessionId": "s", "referrer": "https://www.google.com/"}
    for visitor, path in (("a", "/"), ("a", "/pricing"), ("b", "/")):
        item = {**view, "anonymousId": visitor, "sessionId": f"s-{visitor}", "path": path}
        assert tenant.send(item).status == 200
    eventually(lambda: sum(row["pageviews"] for row in tenant.rows("realtime_pages")) == 3)

    assert tenant.rows("active_stats") == [{"active_users": 2, "active_sessions": 2}]
    assert tenant.rows("realtime_pages") == [
        {"path": "/", "pageviews": 2, "visitors": 2},
        {"path": "/pricing", "pageviews": 1, "visitors": 1},
    ]
    assert tenant.rows("today_metrics") == [{"pageviews": 3, "visitors": 2, "sessions": 2}]
    # A visitor without a page view is a visitor here as in the summary.
    assert tenant.send({"name": "ping", "anonymousId": "c"}).status == 200
    today = {"preset": "today", "startDate": None, "endDate": None}
    eventually(lambda: tenant.rows("summary", **today)[0]["total_events"] == 4)
    [summary] = tenant.rows("summary", **today)
    [now] = tenant.rows("today_metrics")
    assert now == {
        "pageviews": summary["pageviews"],
        "visitors": summary["unique_visitors"],
        "sessions": summary["sessions"],
    }


def test_whether_it_is_complete_and_fresh(shop: Shop) -> None:
    """Items that were acknowledged are in the result as soon as their receipt says so."""
    item = {"name": "screen_view", "path": "/fresh", "timestamp": first_ms(TODAY)}
    sent = shop.send("/track", [item], "blog", CHROME_USER_AGENT, "&wait=stored").json
    receipt = f"{shop.tenant.stack.query_url}/v1/receipts/{sent['receipt']}"
    reply = shop.post("/v1/query", {"parameters": ["summary"], "preset": "today"}, "blog").json

    assert sent["stored"] is True
    assert call("GET", receipt, headers=shop.headers).json["data"]["counts"]["stored"] == 1
    assert reply["meta"]["watermark"] is not None
    assert reply["meta"]["lagSeconds"] >= 0
    again = {"parameters": ["summary"], **ALL, "asOf": reply["meta"]["versions"]}
    first, second = (shop.post("/v1/query", again).json["data"] for _ in range(2))
    assert first == second


def test_sql_over_the_files_of_the_lake(shop: Shop) -> None:
    settings = shop.tenant.stack.settings
    table = DeltaTable(f"{settings.lake_url}/events")
    paths = table.file_uris()
    found = duckdb.execute(
        """
        SELECT path, count(*), count(DISTINCT anonymous_id)
          FROM read_parquet(?, union_by_name = true)
         WHERE website_id = ? AND name = 'screen_view' AND is_bot IS DISTINCT FROM TRUE
         GROUP BY path
        """,
        [paths, shop.tenant.website.id],
    ).fetchall()

    pages = grouped(Truth(shop.acts, last=TODAY).views, lambda act: act.path)
    assert {path: (views, visitors) for path, views, visitors in found} == {
        path: (len(acts), people(acts)) for path, acts in pages.items()
    }


HISTORY = (FIRST_DAY, FIRST_LIVE_DAY - timedelta(days=1))


@pytest.mark.parametrize("days", [HISTORY, (FIRST_LIVE_DAY, LAST_DAY)], ids=("imported", "live"))
def test_imported_history_counts_like_live_visits(shop: Shop, days: tuple[date, date]) -> None:
    [found] = shop.rows("summary", startDate=str(days[0]), endDate=str(days[1]))

    truth = Truth(shop.acts, *days)
    assert (found["pageviews"], found["sessions"], found["unique_visitors"]) == (
        len(truth.views),
        len(truth.visits),
        len(truth.visitors),
    )


def test_pages_for_a_spreadsheet(shop: Shop) -> None:
    """With the period before beside each number, and no text that a spreadsheet would run."""
    before = FIRST_LIVE_DAY - timedelta(days=5)
    compare = {"startDate": str(before), "endDate": str(FIRST_LIVE_DAY - timedelta(days=1))}
    body = {"parameters": ["top_pages"], **LIVE, "compare": {"to": compare}}
    lines = shop.file("/v1/query", body)

    now = grouped(Truth(shop.acts, FIRST_LIVE_DAY, LAST_DAY).views, lambda act: act.path)
    then = Truth(shop.acts, before, FIRST_LIVE_DAY - timedelta(days=1)).views
    past = grouped(then, lambda act: act.path)
    assert {line["name"]: (line["pageviews"], line["previous_pageviews"]) for line in lines} == {
        path: (str(len(acts)), str(len(past[path])) if path in past else "")
        for path, acts in now.items()
    }
    searches = shop.file("/v1/query/custom", {"query": SEARCHES, **LIVE})
    assert "'=1+1" in {line["properties.query"] for line in searches}


SEARCHES = {
    "table": "events",
    "selects": [{"aggregate": "count", "field": "*", "alias": "n"}],
    "filters": [is_("name", "search")],
    "groupBy": ["properties.query"],
}


def test_visits_as_a_file(shop: Shop) -> None:
    reply = shop.export("sessions", format="csv", columns="session_id,channel,is_bounce,page_views")

    lines = list(csv.DictReader(io.StringIO(reply.body.decode())))
    assert {line["session_id"]: tuple(line.values())[1:] for line in lines} == {
        seen.visit.session: (
            seen.visit.source.channel,
            str(seen.bounced).lower(),
            str(len(seen.views)),
        )
        for seen in Truth(shop.acts).visits
    }


def test_events_as_a_file_with_the_source_of_their_visit(shop: Shop) -> None:
    reply = shop.export("events", columns="event_id,name,visit.channel", filters=json.dumps(BOUGHT))

    rows = [json.loads(line) for line in reply.body.splitlines()]
    assert sorted((row["name"], row["visit.channel"]) for row in rows) == sorted(
        ("purchase", act.visit.source.channel) for act in Truth(shop.acts).named("purchase")
    )


BOUGHT = [is_("name", "purchase")]
MOBILE = {"name": "phones", "filters": [is_("visit.device_type", "mobile")]}
NOTE = {"start": str(LAST_DAY), "text": "Release 7"}


def test_saved_segments_and_goals(shop: Shop) -> None:
    shop.save("segments", MOBILE)
    shop.save("goals", {"name": "order", "event": "purchase"})

    [found] = shop.rows({"name": "goals", "goals": [{"goal": "order"}]}, filters=PHONES)
    [summary] = shop.rows("summary", filters=PHONES)
    [counted] = shop.metrics("visits", filters=PHONES)

    truth = Truth(shop.acts)
    events = [act for act in truth.events if act.visit.device.type == "mobile"]
    visits = [seen for seen in truth.visits if seen.visit.device.type == "mobile"]
    bought = [act for act in events if act.name == "purchase"]
    assert (found["name"], found["conversions"]) == ("order", len(bought))
    assert found["conversion_rate"] == percent(people(bought), people(events))
    assert summary["sessions"] == counted["visits"] == len(visits)


PHONES = [{"segment": "phones"}]


def test_annotations_beside_a_series(shop: Shop) -> None:
    shop.save("annotations", NOTE)

    notes = shop.entry("events_by_date", **LIVE)["meta"]["annotations"]

    assert [(note["start"], note["text"]) for note in notes] == [(str(LAST_DAY), "Release 7")]
    early = {"startDate": str(FIRST_DAY), "endDate": str(FIRST_DAY)}
    assert "annotations" not in shop.entry("events_by_date", **early)["meta"]


def test_landing_pages_as_a_workbook(shop: Shop) -> None:
    """Numbers are numbers, and the first row has the names."""
    url = f"{shop.tenant.stack.query_url}/v1/query?website_id={shop.id_of('shop')}&format=xlsx"
    reply = call("POST", url, {"parameters": ["entry_pages"], **ALL}, shop.headers)

    names, *lines = load_workbook(io.BytesIO(reply.body)).worksheets[0].iter_rows(values_only=True)
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    landed = grouped(Truth(shop.acts).visits, lambda seen: seen.visit.entry_page)
    assert {row["name"]: row["pageviews"] for row in rows} == {
        page: len(visits) for page, visits in landed.items()
    }
