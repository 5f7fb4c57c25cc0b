"""Reports over HTTP: numbers worked out by hand, preview, send, history."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from query.engine.freshness import FreshnessTracker
from query.engine.table_offsets import TableOffsets
from query.engine.topic_watermarks import Measurement, TopicWatermarks
from query.notify import deliver, reports_due
from query.notify.report_mails import make_report
from query.notify.reports_due import ReportsDue
from query.reports import schedule
from schemas.kinds import KINDS
from schemas.runtime.settings import Settings
from tests.query.lake import Stored, a_view, an_event
from tests.query.notify.test_hostile_alerts import Mailbox
from tests.query.notify.times import ms
from tests.query.query_service import InProcessService, reused, start_service

SEARCH: Mapping[str, Any] = {"channel": "Organic Search", "referrer_name": "Google"}
DIRECT: Mapping[str, Any] = {"channel": "Direct"}
GERMAN: Mapping[str, Any] = {"country": "DE", "device_type": "desktop"}
FRENCH: Mapping[str, Any] = {"country": "FR"}


def two_weeks() -> list[Stored]:
    """16 to 22 November: u1 sees one page. 23 to 29: u1 sees two and buys; u2 and u3 see one."""
    at = "2026-11-24T10:0{}:00Z".format
    last: Mapping[str, Any] = {"visitor": "u1", "session": "s1", **GERMAN}
    return [
        a_view("/", at="2026-11-18T09:00:00Z", visitor="u1", session="s0", **DIRECT, **GERMAN),
        a_view("/", at=at(0), **last, **SEARCH),
        a_view("/pricing", at=at(1), **last, **DIRECT),
        an_event("purchase", at=at(2), path="/pricing", **last, **DIRECT),
        a_view("/", at="2026-11-25T11:00:00Z", visitor="u2", session="s2", **DIRECT, **FRENCH),
        a_view("/pricing", at="2026-11-25T12:00:00Z", visitor="u3", session="s3", **DIRECT),
        # the day after the week
        a_view("/late", at="2026-11-30T00:10:00Z", visitor="u4", session="s4", **DIRECT),
        a_view("/rival", at=at(0), visitor="u1", session="s1", website="rival", **DIRECT),
    ]


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(*two_weeks())
    return service


def save(service: InProcessService, kind: str, /, **body: Any) -> str:
    """The id of a new saved record of the shop."""
    reply = service.ask("POST", f"/v1/{kind}", body, key="acme-admin", website_id="shop")
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def preview(service: InProcessService, report_id: str, form: str, status: int = 200) -> str:
    """The report in a form, as text."""
    reply = service.ask("GET", f"/v1/reports/{report_id}/preview", key="acme-admin", format=form)
    assert reply.status == status, reply.body
    return reply.body.decode()


def test_a_weekly_report_has_the_numbers_of_the_last_whole_week(service: InProcessService) -> None:
    save(service, "goals", name="Purchase", event="purchase")
    by_page = save(
        service,
        "explorations",
        name="Views by page",
        metricsQuery={"metrics": ["page_views"], "dimensions": ["path"]},
    )
    report_id = save(service, "reports", name="Weekly", explorations=[by_page])

    assert preview(service, report_id, "csv").splitlines() == [
        "section,name,measure,value,previous",
        "Overview,2026-11-23/2026-11-29,Visitors,3,1",
        "Overview,2026-11-23/2026-11-29,Visits,3,1",
        "Overview,2026-11-23/2026-11-29,Page views,4,1",
        "Overview,2026-11-23/2026-11-29,Bounce rate,66.67,100.0",
        "Overview,2026-11-23/2026-11-29,Median visit duration,0.0,0.0",
        "Visitors by day,2026-11-23,Visitors,0,0",
        "Visitors by day,2026-11-24,Visitors,1,0",
        "Visitors by day,2026-11-25,Visitors,2,1",
        "Visitors by day,2026-11-26,Visitors,0,0",
        "Visitors by day,2026-11-27,Visitors,0,0",
        "Visitors by day,2026-11-28,Visitors,0,0",
        "Visitors by day,2026-11-29,Visitors,0,0",
        "Top pages,/,Page views,2,1",
        "Top pages,/,Visitors,2,",
        "Top pages,/pricing,Page views,2,0",
        "Top pages,/pricing,Visitors,2,",
        "Channels,Direct,Visitors,2,1",
        "Channels,Direct,Visits,2,",
        "Channels,Organic Search,Visitors,1,0",
        "Channels,Organic Search,Visits,1,",
        "Sources,Google,Visitors,1,0",
        "Sources,Google,Visits,1,",
        "Countries,Germany,Visitors,1,1",
        "Countries,Germany,Visits,1,",
        "Countries,France,Visitors,1,0",
        "Countries,France,Visits,1,",
        "Countries,Unknown,Visitors,1,",
        "Countries,Unknown,Visits,1,",
        "Devices,Unknown,Visitors,2,",
        "Devices,Unknown,Visits,2,",
        "Devices,Desktop,Visitors,1,1",
        "Devices,Desktop,Visits,1,",
        "Goals,Purchase,Conversions,1,0",
        "Goals,Purchase,Rate,33.33,",
        "Views by page,/,Page views,2,",
        "Views by page,/pricing,Page views,2,",
    ]


def test_a_daily_report_has_the_hours_of_the_day_before(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Daily", schedule="daily")
    service.holds(a_view("/", at="2026-11-29T23:59:59Z", visitor="u5", session="s5", **DIRECT))

    lines = preview(service, report_id, "csv").splitlines()

    assert lines[1] == "Overview,2026-11-29/2026-11-29,Visitors,1,0"
    hours = [line for line in lines if line.startswith("Visitors by hour")]
    assert len(hours) == 24
    assert re.fullmatch(r"Visitors by hour,2026-11-29.23:00\S*,Visitors,1,0", hours[23])


def test_a_report_without_comparison_has_no_numbers_of_before(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly", compare=False)

    lines = preview(service, report_id, "csv").splitlines()[1:]

    assert {line.rpartition(",")[2] for line in lines} == {""}


def test_filters_hold_for_every_number_and_are_mentioned(service: InProcessService) -> None:
    table = save(
        service,
        "explorations",
        name="By channel",
        metricsQuery={"metrics": ["visits"], "dimensions": ["visit.channel"]},
    )
    german = [{"field": "visit.country", "operator": "eq", "value": "DE"}]
    report_id = save(service, "reports", name="German", filters=german, explorations=[table])

    lines = preview(service, report_id, "csv").splitlines()

    assert lines[1] == "Overview,2026-11-23/2026-11-29,Visitors,1,1"
    assert lines[-1] == "By channel,Organic Search,Visits,1,"
    assert "Filters apply" in preview(service, report_id, "text")


def test_an_exploration_of_a_custom_query_is_a_table(service: InProcessService) -> None:
    query = {
        "query": {
            "table": "events",
            "selects": [{"field": "*", "aggregate": "count", "alias": "rows"}],
            "groupBy": ["path"],
        },
        "startDate": "2020-01-01",
        "endDate": "2020-01-02",
    }
    table = save(service, "explorations", name="Rows", customQuery=query)
    report_id = save(service, "reports", name="Weekly", explorations=[table])

    lines = preview(service, report_id, "csv").splitlines()

    assert sorted(lines[-2:]) == ["Rows,/,Rows,2,", "Rows,/pricing,Rows,3,"]


def test_a_deleted_exploration_is_named_as_such(service: InProcessService) -> None:
    table = save(service, "explorations", name="Old", metricsQuery={"metrics": ["visits"]})
    report_id = save(service, "reports", name="Weekly", explorations=[table])
    service.ask("DELETE", f"/v1/explorations/{table}", key="acme-admin")

    assert "This exploration was deleted." in preview(service, report_id, "text")


def test_a_report_has_the_explorations_of_its_board(service: InProcessService) -> None:
    query = {"metrics": ["page_views"], "dimensions": ["path"]}
    table = save(service, "explorations", name="Views", metricsQuery=query)
    tiles = [{"text": "Look here"}, {"exploration": table}, {"card": "goals"}]
    board = save(service, "boards", name="Checkout", tiles=tiles)
    report_id = save(service, "reports", name="Weekly", board=board, explorations=[table])

    lines = preview(service, report_id, "csv").splitlines()

    assert lines[-2:] == ["Views,/,Page views,2,", "Views,/pricing,Page views,2,"]
    assert sum(line.startswith("Views,") for line in lines) == 2


def test_a_report_names_a_board_of_its_website(service: InProcessService) -> None:
    save(service, "boards", name="Checkout", tiles=[{"text": "a"}])
    body = {"name": "Weekly", "board": "board_of_others"}

    reply = service.ask("POST", "/v1/reports", body, key="acme-admin", website_id="shop")

    assert reply.json["error"] == "'board' is 'board_of_others'; the website has none of this id"


def test_a_preview_is_a_page_that_loads_nothing(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly")

    reply = service.ask("GET", f"/v1/reports/{report_id}/preview", key="acme-admin")

    page = reply.body.decode()
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["content-security-policy"].startswith("sandbox ")
    assert reply.headers["cache-control"] == "no-store"
    sources = re.findall(r'(?:src|href)="([^"]{0,40})', page)
    assert [source.partition(",")[0] for source in sources] == [
        "data:image/png;base64",
        "http://127.0.0.1:4001/shop/overview?peri",
    ]
    assert "?period=2026-11-23..2026-11-29" in page
    assert "Unsubscribe" not in page


def test_a_preview_as_pdf_is_a_file(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly")

    reply = service.ask("GET", f"/v1/reports/{report_id}/preview", key="acme-admin", format="pdf")

    assert reply.body.startswith(b"%PDF-")
    assert reply.headers["content-type"] == "application/pdf"
    assert reply.headers["content-disposition"] == (
        'inline; filename="shop.example-2026-11-23.pdf"'
    )


def test_another_form_of_a_preview_is_refused(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly")

    reply = service.ask("GET", f"/v1/reports/{report_id}/preview", key="acme-admin", format="docx")

    assert (reply.status, reply.json["error"]) == (
        400,
        "'format' is 'docx'; use one of html, text, pdf, csv",
    )


def test_a_report_of_another_organization_is_not_there(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly")

    for method, action in (("GET", "preview"), ("POST", "send"), ("GET", "history")):
        reply = service.ask(method, f"/v1/reports/{report_id}/{action}", key="globex")
        assert reply.status in (403, 404), action


def test_a_sent_report_is_due_for_each_recipient_and_channel(service: InProcessService) -> None:
    channel = save(
        service,
        "channels",
        name="Chat",
        kind="slack",
        address="https://hooks.slack.com/services/T0/B0/secret",
    )
    people = ["a@shop.example", "b@shop.example"]
    report_id = save(service, "reports", name="Weekly", recipients=people, channels=[channel])

    sent = service.ask("POST", f"/v1/reports/{report_id}/send", key="acme-admin").json["data"]

    assert {name: sent[name] for name in ("event", "start", "end", "createdAt")} == {
        "event": "report",
        "start": "2026-11-23T00:00:00.000Z",
        "end": "2026-11-30T00:00:00.000Z",
        "createdAt": "2026-11-30T00:53:20.000Z",
    }
    assert sorted((one["to"], one["kind"], one["state"]) for one in sent["deliveries"]) == [
        ("a@shop.example", "email", "due"),
        ("b@shop.example", "email", "due"),
        (channel, "slack", "due"),
    ]
    again = service.ask("POST", f"/v1/reports/{report_id}/send", key="acme-admin").json["data"]
    history = service.ask("GET", f"/v1/reports/{report_id}/history", key="acme-admin").json["data"]
    assert {notice["id"] for notice in history} == {sent["id"], again["id"]}
    newest = service.ask(
        "GET", f"/v1/reports/{report_id}/history", key="acme-admin", limit="1"
    ).json["data"]
    assert len(newest) == 1


def test_a_report_says_when_it_is_sent_and_was_sent(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly", recipients=["a@shop.example"])
    path = f"/v1/reports/{report_id}"

    monday = "2026-11-30T07:00:00.000Z"
    state = service.ask("GET", path, key="acme-admin").json["data"]["state"]
    assert state == {"nextAt": monday, "lastAt": None}

    sent = service.ask("POST", f"{path}/send", key="acme-admin").json["data"]
    listed = service.ask("GET", "/v1/reports", key="acme-admin", website_id="shop").json["data"]
    states = {one["id"]: one["state"] for one in listed}
    assert states[report_id] == {"nextAt": monday, "lastAt": sent["createdAt"]}

    service.ask("PATCH", path, {"paused": True}, key="acme-admin")
    paused = service.ask("GET", path, key="acme-admin").json["data"]["state"]
    assert paused == {"nextAt": None, "lastAt": sent["createdAt"]}


def test_a_report_without_recipients_cannot_be_sent(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly")

    reply = service.ask("POST", f"/v1/reports/{report_id}/send", key="acme-admin")

    assert (reply.status, reply.json["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize("form", ["html", "text", "csv"])
def test_names_of_strangers_do_no_harm(service: InProcessService, form: str) -> None:
    hostile = '=HYPERLINK("https://evil.example/?<script>alert(1)</script>")\u202e'
    service.holds(a_view(hostile, at="2026-11-25T12:00:00Z", visitor="u9", session="s9", **DIRECT))
    report_id = save(service, "reports", name=f"Weekly <b> {form}")

    text = preview(service, report_id, form)

    assert "<script>" not in text or form != "html"
    assert "https://evil.example" not in text or form == "csv"
    assert "\u202e" not in text or form == "csv"
    assert form != "csv" or "'=HYPERLINK" in text


def scheduled(service: InProcessService, time: list[int]) -> ReportsDue:
    """Reports that are due at the time of the test, when everything until then is stored."""
    watermarks = TopicWatermarks(Settings(), TableOffsets("", "", 1), lambda: time[0])
    dependencies = structs.replace(
        service.dependencies,
        clock=lambda: time[0],
        freshness=FreshnessTracker(watermarks, lambda: time[0]),
    )
    watermarks.add(Measurement(0, {kind.table.name: time[0] for kind in KINDS}))
    return ReportsDue(dependencies, service.store.notices())


def test_another_time_zone_sends_no_report_again(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Daily", schedule="daily", recipients=["a@b.example"])
    reports = scheduled(service, [ms("2026-12-02T09:00:00Z")])
    assert asyncio.run(reports.write_due()) == 1

    zone = {"timezone": "Europe/Berlin"}
    assert service.ask("PATCH", "/v1/websites/shop", zone, key="acme-admin").status == 200
    asyncio.run(reports.write_due())

    assert len(service.store.notices().history(9, report_id=report_id)) == 1


def test_a_report_is_read_once_for_all_its_recipients(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, make = [], make_report

    async def counted(*arguments: Any) -> Any:
        read.append(1)
        return await make(*arguments)

    monkeypatch.setattr(deliver, "make_report", counted)
    people = [f"p{i}@shop.example" for i in range(30)]
    report_id = save(service, "reports", name="Daily", schedule="daily", recipients=people)
    path = f"/v1/reports/{report_id}/send"
    assert service.ask("POST", path, {}, key="acme-admin").status == 200
    mailbox: Any = Mailbox()
    access = structs.replace(service.dependencies.access, mailer=mailbox)
    dependencies = structs.replace(service.dependencies, access=access)
    deliveries = deliver.Deliveries(dependencies, service.store.notices())

    async def all_due() -> None:
        while await deliveries.deliver_due():
            pass

    asyncio.run(all_due())

    assert len(mailbox.mails) == 30
    assert len(read) == 1


def test_many_reports_that_are_not_due_take_no_time(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_id = save(service, "reports", name="Daily", schedule="daily")
    calls, last_due, time = [], schedule.last_due, [ms("2026-12-02T09:00:00Z")]

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return last_due(*arguments)

    monkeypatch.setattr(reports_due, "last_due", counted)
    reports = scheduled(service, time)

    for at in ("02T09:00", "02T09:01", "03T06:59", "03T07:00"):
        time[0] = ms(f"2026-12-{at}:00Z")
        asyncio.run(reports.write_due())

    assert len(calls) == 2
    assert len(service.store.notices().history(9, report_id=report_id)) == 1
    time[0] = ms("2026-12-02T08:00:00Z")  # the clock was ahead
    asyncio.run(reports.write_due())
    assert len(calls) == 3
