"""Explore: questions of metrics and dimensions; their answers are those of the API; saved ones."""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import DAY, Tenant
from tests.installation import eventually
from tests.web.dashboard import Dashboard, percent
from tests.web.downloads import downloaded
from tests.web.test_accessibility import violations

BAD_REQUEST = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
DESKTOP = {"field": "device_type", "operator": "eq", "value": "desktop"}
CHOICE = """(text) => [...document.querySelectorAll('.choice')].find(
  (each) => each.firstElementChild.innerText.trim() === text && each.checkVisibility())"""
TITLES = "[...document.querySelectorAll('main .card h2')].map((each) => each.innerText)"
FIGURES = """[...document.querySelectorAll('.figures > div')].map(
  (each) => [each.querySelector('dt').innerText.trim(), each.querySelector('dd').innerText])"""
EXAMPLES = "[...document.querySelectorAll('.example')]"


def asked(dashboard: Dashboard, question: dict[str, Any], **own: str) -> None:
    dashboard.open("explore", ask=json.dumps(question), **own)


def add(dashboard: Dashboard, picker: str, text: str) -> None:
    """Pick from the list that a button opens, by the words of the choice."""
    dashboard.press(picker)
    dashboard.type_into(".picker:popover-open input[type=search]", text)
    dashboard.until(f"(found => found && (found.click(), true))(({CHOICE})({json.dumps(text)}))")


def reason(dashboard: Dashboard, picker: str, text: str) -> str:
    """Why a choice is disabled."""
    dashboard.press(picker)
    dashboard.until(f"({CHOICE})({json.dumps(text)})?.disabled")
    shown: str = dashboard.tab.js(f"({CHOICE})({json.dumps(text)}).lastElementChild.innerText")
    dashboard.tab.js("document.querySelector('.picker:popover-open').hidePopover()")
    return shown


def saved(dashboard: Dashboard) -> list[dict[str, Any]]:
    return list(dashboard.client.saved("explorations", dashboard.tenant.website.id))


def test_every_example_is_answered_at_the_first_click(dashboard: Dashboard) -> None:
    dashboard.open("explore")
    count = dashboard.until(f"{EXAMPLES}.length")
    assert count == 6
    for at in range(count):
        title = dashboard.until(f"{EXAMPLES}[{at}]?.querySelector('b').innerText")
        dashboard.tab.js(f"{EXAMPLES}[{at}].click()")
        dashboard.until("location.search.includes('ask=')")
        dashboard.settle()
        assert not dashboard.tab.js("!!document.querySelector('main .failed')"), title
        drawn = "document.querySelector('main :is(.plot canvas, .table-frame tbody tr)')"
        assert dashboard.until(f"!!{drawn}"), title
        dashboard.tab.js("history.back()")
        dashboard.until(f"{EXAMPLES}.length")


def test_bars_are_the_rows_of_the_api(dashboard: Dashboard) -> None:
    asked(dashboard, {"metrics": ["visits", "bounce_rate"], "dimensions": ["visit.channel"]})
    rows = dashboard.metrics("visits", "bounce_rate", dimensions=["visit.channel"])
    assert len(rows) > 1
    shown = dashboard.rows("Visits, Bounce rate by Channel")
    assert [row[:3] for row in shown] == [
        [row["visit.channel"], f"{row['visits']:,}", percent(row["bounce_rate"])] for row in rows
    ]
    widths = dashboard.tab.js("[...document.querySelectorAll('main .bar')].map(b => b.style.width)")
    assert widths[0] == "100%"

    dashboard.press("Bounce rate", "main thead")
    dashboard.until("decodeURIComponent(location.search).includes('orderBy')")
    dashboard.settle()
    order = [{"field": "bounce_rate", "direction": "desc"}]
    rows = dashboard.metrics("visits", "bounce_rate", dimensions=["visit.channel"], orderBy=order)
    expected = [row["visit.channel"] for row in rows]
    eventually(
        lambda: [row[0] for row in dashboard.rows("Visits, Bounce rate by Channel")] == expected, 30
    )


def test_numbers_are_those_of_the_api(dashboard: Dashboard) -> None:
    names = ["visitors", "bounce_rate", "p75_lcp", "errors"]
    asked(dashboard, {"metrics": names})
    [row] = dashboard.metrics(*names)
    assert dashboard.until(f"({FIGURES}).length && {FIGURES}") == [
        ["Visitors", str(row["visitors"])],
        ["Bounce rate", percent(row["bounce_rate"])],
        ["LCP (p75)", f"{row['p75_lcp'] / 1000:.2f} s"],
        ["Errors", str(row["errors"])],
    ]


def test_lines_are_those_of_the_api(dashboard: Dashboard) -> None:
    """A day has hours: the width of the buckets is one that the time range can have."""
    asked(dashboard, {"metrics": ["visitors"], "dimensions": ["time:day", "visit.channel"]})
    legend = "[...document.querySelectorAll('.legend li')].map((each) => each.innerText.trim())"
    names = dashboard.until(f"({legend}).length && {legend}")
    top = dashboard.metrics("visitors", dimensions=["visit.channel"])
    assert names == [row["visit.channel"] for row in top]
    rows = dashboard.metrics("visitors", dimensions=["time:hour", "visit.channel"])
    dashboard.press("Show as table")
    shown = dashboard.rows("Visitors by Hour and Channel")
    for at, name in enumerate(names, 1):
        values = [row["visitors"] for row in rows if row["visit.channel"] == name]
        assert sorted(int(row[at]) for row in shown if row[at] != "0") == sorted(values)


def test_several_metrics_over_time_have_a_chart_for_each_unit(dashboard: Dashboard) -> None:
    metrics = ["visitors", "visits", "bounce_rate"]
    asked(dashboard, {"metrics": metrics, "dimensions": ["time:hour"]})
    dashboard.until("document.querySelectorAll('main .plot canvas').length === 2")

    dashboard.press("Table")
    dashboard.settle()
    rows = dashboard.metrics(*metrics, dimensions=["time:hour"])
    shown = dashboard.rows("Visitors, Visits, Bounce rate by Hour")
    assert [row[1:3] for row in shown] == [[str(r["visitors"]), str(r["visits"])] for r in rows]


def test_a_question_is_built_by_picking(dashboard: Dashboard) -> None:
    dashboard.open("explore")
    add(dashboard, "Choose a metric", "Page views")
    dashboard.until(f"({TITLES}).includes('Page views')")
    add(dashboard, "Choose a dimension", "Page")
    dashboard.until(f"({TITLES}).includes('Page views by Page')")
    dashboard.settle()
    rows = dashboard.metrics("page_views", dimensions=["path"])
    shown = dashboard.rows("Page views by Page")
    assert [row[:2] for row in shown] == [[r["path"], str(r["page_views"])] for r in rows]

    dashboard.press("Remove Page")
    dashboard.until(f"({TITLES}).includes('Page views')")
    dashboard.tab.js("history.back()")
    dashboard.until(f"({TITLES}).includes('Page views by Page')")


def test_a_property_of_events_is_a_dimension(dashboard: Dashboard) -> None:
    dashboard.open("explore")
    add(dashboard, "Choose a metric", "Events")
    dashboard.press("Choose a dimension")
    dashboard.type_into(".picker:popover-open input[type=search]", "plan")
    name = "Property plan"
    dashboard.until(f"(found => found && (found.click(), true))(({CHOICE})({json.dumps(name)}))")
    dashboard.until("location.search.includes('properties.plan')")
    dashboard.settle()
    rows = dashboard.metrics("events", dimensions=["properties.plan"])
    shown = dashboard.rows(f"Events by {name}")
    assert [row[1] for row in shown] == [str(row["events"]) for row in rows]


def test_what_cannot_be_asked_together_says_why(dashboard: Dashboard) -> None:
    asked(dashboard, {"metrics": ["events"], "dimensions": ["name"]})
    assert reason(dashboard, "Choose a metric", "LCP (p75)") == (
        "Not by Event: its rows do not have that."
    )
    asked(dashboard, {"metrics": ["p75_lcp"]})
    assert reason(dashboard, "Choose a dimension", "Event") == (
        "Not with LCP (p75): its rows do not have this."
    )
    asked(dashboard, {"metrics": ["events"], "dimensions": ["name", "path"]})
    assert "At most 2" in reason(dashboard, "Choose a dimension", "Country")


def test_a_filter_that_a_metric_cannot_have_is_no_error(dashboard: Dashboard) -> None:
    asked(dashboard, {"metrics": ["p75_lcp"]}, f="name:eq:signup")
    text = dashboard.text("main .empty")
    assert text == "LCP (p75): Not under the filter Event: its rows do not have that."


@pytest.mark.parametrize(
    "metrics",
    [["visitors", "visits"], ["new_visitors", "page_views", "exit_rate"], ["errors", "error_rate"]],
)
def test_every_dimension_that_can_be_picked_is_answered(
    dashboard: Dashboard, metrics: Sequence[str]
) -> None:
    """The page knows what goes together: no choice that it offers is refused."""
    asked(dashboard, {"metrics": metrics})
    dashboard.press("Choose a dimension")
    choices = dashboard.until(
        "(c => c.length && c)([...document.querySelectorAll('.picker:popover-open .choice')]"
        ".filter((each) => !each.disabled).map((each) => each.dataset.value))"
    )
    assert len(choices) > 20
    for choice in choices:
        dashboard.metrics(*metrics, dimensions=[json.loads(choice)])


def test_the_visitors_behind_a_row(dashboard: Dashboard) -> None:
    asked(dashboard, {"metrics": ["visitors"], "dimensions": ["visit.channel"]})
    [row, *_] = dashboard.metrics("visitors", dimensions=["visit.channel"])
    dashboard.until("!!document.querySelector('main td a.icon')")
    dashboard.tab.js("document.querySelector('main td a.icon').click()")
    dashboard.until("location.pathname.endsWith('/visitors')")
    dashboard.settle()
    shown = dashboard.until("document.querySelectorAll('main tbody tr').length")
    assert shown == row["visitors"]


def test_the_file_and_the_request_are_those_of_the_question(dashboard: Dashboard) -> None:
    asked(dashboard, {"metrics": ["visits"], "dimensions": ["visit.channel"], "limit": 10})
    title = "Visits by Channel"
    rows = dashboard.metrics("visits", dimensions=["visit.channel"])
    assert [list(row.values()) for row in downloaded(dashboard, title)] == [
        [row["visit.channel"], str(row["visits"])] for row in rows
    ]
    dashboard.press(f"{title}: definition, file and request")
    dashboard.press("The request behind this number")
    code = "[...document.querySelectorAll('dialog .answer-fields code')].map(c => c.innerText)"
    assert dashboard.until(f"({code}).length && {code}") == [
        "data[].visit.channel",
        "data[].visits",
    ]
    assert '"metrics":["visits"]' in dashboard.text("dialog pre")


def test_a_question_is_saved_opened_changed_renamed_and_deleted(dashboard: Dashboard) -> None:
    question = {"metrics": ["visits"], "dimensions": ["visit.channel"]}
    asked(dashboard, question, f="device_type:eq:desktop", shape="table")
    expected = dashboard.rows("Visits by Channel")
    dashboard.press("Save …")
    dashboard.type_into("dialog input[name=name]", "Desktop channels")
    dashboard.type_into("dialog textarea[name=description]", "Where they come from")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Desktop channels'")
    [record] = saved(dashboard)
    assert record["metricsQuery"] == {**question, "filters": [DESKTOP]}
    assert (record["shape"], record["description"]) == ("table", "Where they come from")
    assert dashboard.path.endswith(f"/explore/{record['id']}")
    dashboard.settle()
    assert dashboard.rows("Visits by Channel") == expected  # its filter is no longer the page's
    assert dashboard.tab.js("location.search.includes('f=')") is False

    dashboard.open("explore")
    text = dashboard.text(".saved-list li")
    assert "Desktop channels" in text
    assert "Visits by Channel · Device is Desktop" in text
    assert record["createdBy"] is None or record["createdBy"] in text
    dashboard.tab.js("document.querySelector('.saved-list a').click()")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Desktop channels'")

    add(dashboard, "Choose a metric", "Visitors")
    dashboard.press("Save")
    eventually(lambda: saved(dashboard)[0]["metricsQuery"]["metrics"] == ["visits", "visitors"], 30)
    dashboard.until("!location.search.includes('ask=')")

    dashboard.press("Name and description …")
    dashboard.type_into("dialog input[name=name]", "Channels of desktops")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Channels of desktops'")

    dashboard.press("Delete …")
    dashboard.press("Delete", "dialog")
    dashboard.until("!document.querySelector('dialog')")
    eventually(lambda: saved(dashboard) == [], 30)
    assert dashboard.path.endswith("/explore")


def shows_figures(dashboard: Dashboard, *figures: list[str]) -> None:
    """Wait until the page shows these names and numbers."""
    expected = json.dumps(figures, separators=(",", ":"))
    dashboard.until(f"JSON.stringify({FIGURES}) === {json.dumps(expected)}")


@pytest.fixture
def refused(chromium: Chromium, small: Tenant) -> Iterator[Dashboard]:
    """A page of which one request is refused; afterwards there are no explorations or boards."""
    page = Dashboard(Tab.opened(chromium), small)
    page.take_session()
    yield page
    for kind in ("boards", "explorations"):
        for record in page.client.saved(kind, small.website.id):
            page.client.delete_saved(kind, record["id"])
    page.check_tab(expected=[BAD_REQUEST])
    page.tab.close()


def test_a_formula_is_corrected_saved_changed_and_shown_on_a_board(refused: Dashboard) -> None:
    """One page view of one visit: 1 * 3 / 1 - 0.5 = 2.5; divided by -20 it is -0.125."""
    asked(refused, {"metrics": ["page_views"]})
    refused.press("Choose a metric")
    refused.press("Formula …", ".picker:popover-open")
    refused.type_into("dialog input[name=as]", "weighted views")
    refused.type_into("dialog input[name=formula]", "page_views * 3 / visit - 0.5")
    refused.press("Use the formula", "dialog")
    assert refused.text("dialog .formula-field:has([name=formula]) .error") == (
        "Unknown metric 'visit' in \u201cFormula\u201d; did you mean 'visits'?"
    )
    refused.type_into("dialog input[name=formula]", "page_views * 3 / visits - 0.5")
    refused.press("Use the formula", "dialog")
    shows_figures(refused, ["Page views", "1"], ["weighted_views", "2.5"])
    term = {"metric": "formula", "formula": "page_views * 3 / visits - 0.5", "as": "weighted_views"}
    assert json.loads(parse_qs(urlsplit(refused.tab.address).query)["ask"][0])["metrics"] == [
        "page_views",
        term,
    ]

    refused.press("Save …")
    refused.type_into("dialog input[name=name]", "Views by weight")
    refused.press("Save", "dialog")
    refused.until("location.pathname.includes('/explore/exp_')")
    refused.press("weighted_views = page_views * 3 / visits - 0.5")
    refused.type_into("dialog input[name=formula]", "(page_views * 3 / visits - 0.5) / -20")
    refused.press("Use the formula", "dialog")
    shows_figures(refused, ["Page views", "1"], ["weighted_views", "-0.125"])
    [exploration] = saved(refused)
    assert exploration["metricsQuery"]["metrics"] == ["page_views", term]

    refused.press("Discard changes")
    tiles = [{"exploration": exploration["id"]}]
    website = refused.tenant.website.id
    board = refused.client.create_saved("boards", website, name="Weights", tiles=tiles)
    refused.open(f"boards/{board['id']}")
    shows_figures(refused, ["Page views", "1"], ["weighted_views", "2.5"])


def test_two_metrics_of_other_units_are_lines_of_one_chart(page: Dashboard) -> None:
    """One visit of one page view: 1 view at the left, 100% bounces at the right."""
    page.tab.set_size(1200)
    question = {"metrics": ["page_views", "bounce_rate"], "dimensions": ["time:day"]}
    asked(page, question, period=f"{DAY}..{DAY + timedelta(days=1)}")
    legend = "[...document.querySelectorAll('.legend li')].map((each) => each.innerText)"
    page.until("document.querySelectorAll('main .plot canvas').length === 1")
    assert page.tab.js(legend) == ["Page views", "Bounce rate (right)"]
    assert page.tab.js("document.querySelectorAll('.plot .u-axis').length") == 3

    page.until("(each => each && (each.focus(), true))(document.querySelector('.plot'))")
    page.press_keys("ArrowRight")
    expected = f"{DAY:%a, %b} {DAY.day}, {DAY.year}. Page views: 1. Bounce rate: 100%"
    page.until(f"document.querySelector('.plot [aria-live]').innerText === {json.dumps(expected)}")
    values = "[...document.querySelectorAll('.plot .hover dd')].map((each) => each.innerText)"
    assert [text for text in page.tab.js(values) if text] == ["1", "100%"]


def test_a_moving_average_is_switched_on_in_the_address(page: Dashboard) -> None:
    """One page view on the eighth of nine days: none, then a view in seven days twice."""
    question = {"metrics": ["page_views"], "dimensions": ["time:day"]}
    first, last = DAY - timedelta(days=7), DAY + timedelta(days=1)
    asked(page, question, period=f"{first}..{last}", compare="none")
    page.press("7-bucket average")
    page.until("location.search.includes('average=7')")
    page.press("Show as table", ".series-shapes")
    values = [row[1:] for row in page.rows("Page views by Day")]
    assert values == [*[["0", "\u2013"]] * 6, ["0", "0"], ["1", "0.14"], ["0", "0.14"]]

    page.press("7-bucket average")
    page.until("!location.search.includes('average')")
    eventually(lambda: {len(row) for row in page.rows("Page views by Day")} == {2}, 30)


@pytest.mark.parametrize("width", [390, 1440])
def test_formulas_and_charts_fit_and_break_no_rule_of_wcag(page: Dashboard, width: int) -> None:
    formula = {"metric": "formula", "formula": "page_views - visits * 1.5", "as": "difference"}
    page.tab.set_size(width)
    question = {"metrics": ["page_views", formula], "dimensions": ["time:day"]}
    first = DAY - timedelta(days=7)
    asked(page, question, period=f"{first}..{DAY}", average="7")
    page.until("document.querySelectorAll('.legend li').length === 4")
    shown = [violations(page)]
    page.press("Choose a metric")
    page.press("Formula \u2026", ".picker:popover-open")
    page.until("document.querySelector('dialog[open] input[name=formula]')")
    shown.append(violations(page))
    fits = page.tab.js("document.documentElement.scrollWidth <= innerWidth")
    assert (shown, fits) == ([[], []], True)


def test_segments_stand_side_by_side(dashboard: Dashboard) -> None:
    website = dashboard.tenant.website.id
    segment = dashboard.client.create_saved(
        "segments", website, name="At desks", filters=[DESKTOP]
    )["id"]
    asked(dashboard, {"metrics": ["visits", "page_views"]})
    add(dashboard, "Choose a segment", "At desks")
    add(dashboard, "Choose a segment", "All visitors")
    dashboard.until("decodeURIComponent(location.search).includes('null]')")

    named = ["visits", "page_views"]
    [total], [part] = dashboard.metrics(*named), dashboard.metrics(*named, filters=[DESKTOP])
    assert total["visits"] > part["visits"] > 0
    expected = [
        [name, f"{row['visits']:,}", f"{row['page_views']:,}"]
        for name, row in (("All visitors", total), ("At desks", part))
    ]
    eventually(
        lambda: [row[:3] for row in dashboard.rows("Visits, Page views by Segment")] == expected, 30
    )

    dashboard.press("Hour", "main .segmented")
    legend = "[...document.querySelectorAll('.legend li')].map((each) => each.innerText.trim())"
    dashboard.until(f"({legend}).length >= 2")
    assert set(dashboard.tab.js(legend)) == {"All visitors", "At desks"}
    dashboard.client.delete_saved("segments", segment)
