"""The overview: its numbers are those of the API; filters, address and history."""

import ast
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from query.metrics.metrics import BY_NAME
from tests.flow.tenant import DAY
from tests.http_client import call
from tests.web.dashboard import RANGE, Dashboard, percent, shown
from tests.web.traffic import VISITORS

TOTALS = """Object.fromEntries([...document.querySelectorAll(".total")].map((total) =>
  [".total-label", ".total-value"].map((part) => total.querySelector(part).innerText)))"""

ANSWER_FIELDS = """document.querySelector("dialog .answer-fields") && Object.fromEntries(
  [...document.querySelectorAll("dialog .answer-fields > div")].map((each) =>
    [each.firstChild.innerText, each.lastChild.innerText]))"""


def totals(dashboard: Dashboard) -> dict[str, str]:
    """The totals by label."""
    found: dict[str, str] = dashboard.until(TOTALS)
    return found


def test_totals_and_series_are_those_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("overview", by="hourly")
    [summary] = dashboard.ask("summary")

    shown_totals = totals(dashboard)
    dashboard.press("Show as table")
    buckets = dashboard.rows("Overview")

    assert shown_totals["Unique visitors"] == f"{summary['unique_visitors']:,}" == "12"
    assert shown_totals["Visits"] == f"{summary['sessions']:,}"
    assert shown_totals["Page views"] == f"{summary['pageviews']:,}"
    assert shown_totals["Bounce rate"] == percent(summary["bounce_rate"])
    series = dashboard.ask("events_by_date", granularity="hourly")
    assert [row[1] for row in buckets] == [f"{row['visitors']}" for row in series]


def test_breakdowns_are_those_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("overview", places="country")
    for card, query_type in (
        ("Sources", "channels"),
        ("Pages", "top_pages"),
        ("Devices", "device_types"),
    ):
        rows = dashboard.ask(query_type, limit=8)
        for row in rows if card == "Devices" else []:
            row["name"] = row["name"].capitalize()
        assert dashboard.rows(card) == shown(rows, "name", "visitors"), card
        assert rows
    names = [row["unique_users"] for row in dashboard.ask("custom_events")]
    assert [row[1] for row in dashboard.rows("Actions")] == [str(number) for number in names]


def test_an_event_keeps_all_that_its_visitors_did(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    dashboard.press("signup", "section[aria-label=Actions]")
    dashboard.until("location.search.includes('has_done')")
    dashboard.settle()

    done = {"has_done": {"event": "signup"}}
    [summary] = dashboard.ask("summary", filters=[done])
    assert totals(dashboard)["Page views"] == str(summary["pageviews"]) != "0"
    pages = dashboard.ask("top_pages", filters=[done], limit=8)
    assert dashboard.rows("Pages") == shown(pages, "name", "visitors")


def test_a_click_on_a_row_filters_everything_and_back_undoes_it(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    before = totals(dashboard)

    dashboard.press("/pricing", "section[aria-label=Pages]")
    dashboard.until("location.search.includes('f=path:eq:/pricing')")
    dashboard.settle()
    filters = [{"field": "path", "operator": "eq", "value": "/pricing"}]
    [summary] = dashboard.ask("summary", filters=filters)
    dashboard.until(
        f"document.querySelector('.total-value').innerText === '{summary['unique_visitors']}'"
    )
    assert totals(dashboard) != before
    assert dashboard.text(".chip-text") == "Page is /pricing"

    dashboard.tab.back()
    dashboard.until("!document.querySelector('.chip')")
    dashboard.settle()
    dashboard.until(
        f"document.querySelector('.total-value').innerText === '{before['Unique visitors']}'"
    )


def test_a_list_pages_sorts_and_searches(dashboard: Dashboard) -> None:
    dashboard.open("list/top_pages", sort="pageviews:asc")
    rows = dashboard.ask("top_pages", order_by=[{"field": "pageviews", "direction": "asc"}])
    assert [row[:3] for row in dashboard.rows("Pages")] == shown(
        rows, "name", "visitors", "pageviews"
    )

    dashboard.type_into("input[type=search]", "pric")
    dashboard.until("location.search.includes('q=pric')")
    dashboard.settle()
    assert [row[0] for row in dashboard.rows("Pages")] == ["/pricing"]


@pytest.mark.parametrize(("days_before", "change"), [(0, "±0%"), (1, "–")])
def test_a_list_shows_the_change_of_each_row(
    dashboard: Dashboard, days_before: int, change: str
) -> None:
    compared = DAY - timedelta(days=days_before)
    dashboard.open("list/traffic_sources", compare=f"{compared}..{compared}")

    changes = [row[-1] for row in dashboard.rows("Referrers")]
    assert changes == [change] * len(dashboard.ask("traffic_sources"))


@pytest.mark.parametrize(
    ("title", "field", "metric", "says"),
    [
        ("Unique visitors", "visitors", "visitors", "each counts once"),
        ("Visits", "sessions", "visits", "sessions with at least one page view"),
        ("Page views", "pageviews", "page_views", "each time that a page was opened"),
        ("Bounce rate", "bounce_rate", "bounce_rate", "share of visits"),
    ],
)
def test_a_number_is_explained_by_its_own_definition(
    dashboard: Dashboard, title: str, field: str, metric: str, says: str
) -> None:
    dashboard.open("overview", metric=field)
    assert dashboard.text(".total.chosen .total-label") == title
    dashboard.press("Overview: definition, file and request")
    text = dashboard.text(".popover:popover-open .menu-text")
    written = BY_NAME[metric].description.replace("`", "")
    assert text == written[0].upper() + written[1:]
    assert says in text.lower()


def test_shares_of_a_list_are_of_all_visitors(dashboard: Dashboard) -> None:
    rows, [summary] = dashboard.ask("top_pages"), dashboard.ask("summary")
    total = summary["unique_visitors"]
    assert sum(row["visitors"] for row in rows) > total
    dashboard.open("list/top_pages", compare="none")

    shares = [percent(100 * row["visitors"] / total, 2) for row in rows]
    assert shares[0] == "100%"
    dashboard.until(
        f"document.querySelector('tbody tr td:last-child')?.innerText === '{shares[0]}'"
    )
    assert [row[-1] for row in dashboard.rows("Pages")] == shares

    dashboard.press("Pages: definition, file and request")
    assert "can be in several rows" in dashboard.text(".popover:popover-open .menu-text")


def test_days_that_are_not_over_are_compared_with_the_same_part(dashboard: Dashboard) -> None:
    today = datetime.now(UTC).date()
    for last, compared in (
        (today, {"to": "previous_period", "untilNow": True}),
        (today - timedelta(days=1), "previous_period"),
    ):
        dashboard.open("overview", period=f"{last - timedelta(days=4)}..{last}")
        dashboard.press_in_menu("Overview", "Request of the totals")
        curl = dashboard.text("dialog pre")
        assert f'"compare":{json.dumps(compared, separators=(",", ":"))}' in curl


def test_totals_say_what_they_are_compared_with(dashboard: Dashboard) -> None:
    dashboard.open("overview", period=f"{DAY + timedelta(days=1)}..{DAY + timedelta(days=1)}")
    line = dashboard.until("document.querySelector('.legend li + li')?.innerText.trim()")
    assert line == f"{DAY:%b} {DAY.day}"
    before = dashboard.until("document.querySelector('.total .was span')?.innerText")
    assert before.strip() == f"{VISITORS} before"


def test_the_request_behind_a_total_is_shown(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    dashboard.press_in_menu("Overview", "Request of the totals")
    curl, python = dashboard.until(
        "document.querySelectorAll('dialog pre').length === 2 && "
        "[...document.querySelectorAll('dialog pre')].map((each) => each.innerText)"
    )
    assert '"name":"summary_metrics"' in curl
    body = ast.literal_eval(python.split("data=")[1].split(".encode()")[0])
    assert json.loads(body)["parameters"] == [
        {"name": "summary_metrics", "compare": "previous_period"}
    ]


@pytest.mark.parametrize(
    ("title", "label"),
    [
        ("Visits", "Visits"),
        ("Bounce rate", "Bounce rate"),
        ("Views per visit", "Views per visit"),
        ("Pages", "Visitors"),
    ],
)
def test_the_dialog_of_a_request_says_which_field_the_number_is(
    dashboard: Dashboard, title: str, label: str
) -> None:
    dashboard.open("overview")
    number = totals(dashboard).get(title) or dashboard.rows(title)[0][1]
    if title == "Pages":
        dashboard.press_in_menu(title, "The request behind this number")
    else:
        dashboard.press_in_menu("Overview", "Request of the totals")
    places = dashboard.until(ANSWER_FIELDS)
    answer = _answer_to(dashboard, dashboard.text("dialog .snippet:last-of-type pre"))

    values = [_value_at(answer, place) for place in places[label].split(" / ")]
    value = values[0] / values[1] if values[1:] else values[0]
    assert number in (percent(value), percent(value, 2), f"{value:,.10g}")
    if title != "Pages":  # breakdowns are not compared on the overview
        assert _value_at(answer, places["Change"])["changePercent"]


def _answer_to(dashboard: Dashboard, python: str) -> object:
    """The answer to the request of a snippet, made with the key of the tenant."""
    url = ast.literal_eval(python.split("urllib.request.Request(")[1].split(",")[0].strip())
    body = ast.literal_eval(python.split("data=")[1].split(".encode()")[0])
    reply = call("POST", url, json.loads(body), {"authorization": f"Bearer {dashboard.tenant.key}"})
    assert reply.status == 200, reply.body
    return reply.json


def _value_at(answer: Any, place: str) -> Any:
    """The value at a place such as `data[0].data[].visitors`, of the first row."""
    for name, index in re.findall(r"(\w+)(\[\d*\])?", place):
        answer = answer[name]
        if index:
            answer = answer[int(index[1:-1] or 0)]
    return answer


def test_a_list_says_which_share_it_shows(dashboard: Dashboard) -> None:
    dashboard.open("list/top_pages")
    dashboard.press_in_menu("Pages", "The request behind this number")
    text = dashboard.text("dialog")
    assert "data[0].data[].pageviews" in text
    assert "share of all visitors" in text
    assert "the sum of all rows" in text


def test_a_change_since_before_the_data_began_is_not_shown(dashboard: Dashboard) -> None:
    days = timedelta(days=3)
    change = "document.querySelector('.total .change')?.innerText"
    for by in ("daily", "hourly"):
        span = {"period": f"{DAY}..{DAY + days}", "compare": f"{DAY - days}..{DAY}"}
        dashboard.open("overview", **span, by=by)
        dashboard.until(f"{change} === 'too little data before'")
    began = f"Compared time range: no data before {DAY:%a, %b} {DAY.day}, {DAY.year}"
    for view in ("overview", "events"):
        dashboard.open(view, **span, by="daily")
        dashboard.until(f"document.querySelector('.series footer')?.innerText.includes('{began}')")
        dashboard.press("Show as table")
        before = (
            "[...document.querySelectorAll('.series tbody tr')].map(r => r.lastChild.innerText)"
        )
        assert dashboard.until(before)[:3] == ["–", "–", "–"]
    dashboard.open("overview", compare=f"{DAY - days}..{DAY - days}")
    dashboard.until(f"{change} === 'no data before'")
    dashboard.open("overview", compare=RANGE)
    dashboard.until(f"{change}?.startsWith('±0%')")


def test_a_bucket_is_opened_with_the_keyboard_and_its_visitors_are_next(
    dashboard: Dashboard,
) -> None:
    dashboard.open("overview", period=f"{DAY - timedelta(days=1)}..{DAY}")
    dashboard.press("Days")
    dashboard.settle()
    dashboard.press("Show as table")
    dashboard.until(
        "(each => each && (each.focus(), document.activeElement === each))"
        "([...document.querySelectorAll('.series tbody button')].at(-1))"
    )
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    dashboard.tab.tell("Input.dispatchKeyEvent", type="keyDown", **key)
    dashboard.until(f"location.search.includes('period={RANGE}')")
    dashboard.settle()
    assert not dashboard.tab.js("!!document.querySelector('.series tbody button')")

    dashboard.press("Visitors", "nav.side")
    dashboard.until(
        f"location.pathname.endsWith('/visitors') && location.search.includes('{RANGE}')"
    )
    dashboard.settle()
    assert len(dashboard.rows("Visitors")) == VISITORS
