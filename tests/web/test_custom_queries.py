"""Rows and custom queries in Explore: built by picking, with result, plan, files; saved."""

import json
from codecs import BOM_UTF8
from datetime import UTC, datetime
from typing import Any

from tests.web.dashboard import Dashboard
from tests.web.downloads import KEEP_FILE, file_name
from tests.web.traffic import VISITORS

TODAY = datetime.now(UTC).date()
HEADS = """[...document.querySelectorAll('main .bars thead th:first-child')].map(
  (head) => head.innerText)"""
BY_PATH = {
    "table": "events",
    "selects": [
        {"aggregate": "count", "field": "*"},
        {"aggregate": "uniq", "field": "anonymous_id"},
    ],
    "groups": ["path"],
}


def opened(dashboard: Dashboard, exploration: dict[str, Any], **own: str) -> None:
    dashboard.open("explore", q=json.dumps(exploration), **own)


def begun(dashboard: Dashboard) -> None:
    dashboard.open("explore", tab="rows")


def rows_of_the_api(dashboard: Dashboard) -> list[list[str]]:
    selects = [
        {"aggregate": "count", "field": "*", "alias": "count"},
        {"aggregate": "uniq", "field": "anonymous_id", "alias": "uniq_anonymous_id"},
    ]
    order = [{"field": "count", "direction": "desc"}]
    query = {"table": "events", "selects": selects, "groupBy": ["path"], "orderBy": order}
    rows = dashboard.tenant.custom(query).json["data"]
    return [[row["path"], str(row["count"]), str(row["uniq_anonymous_id"])] for row in rows]


def chosen(dashboard: Dashboard, label: str, value: str) -> None:
    """Choose in the list with this name, as a person does."""
    found = f"document.querySelector('select[aria-label=\"{label}\"]')"
    dashboard.until(f"!!{found}")
    dashboard.tab.js(
        f"(s => {{ s.value = {json.dumps(value)}; "
        f"s.dispatchEvent(new Event('change', {{bubbles: true}})); }})({found})"
    )


def test_the_result_is_that_of_the_api(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH)
    expected = rows_of_the_api(dashboard)
    assert dashboard.rows("Result") == expected
    assert len(expected) == 4

    dashboard.press("Bars")
    dashboard.until("document.querySelector('.bars')")
    rows = dashboard.rows("Result")
    assert rows[: len(expected)] == [row[:2] for row in expected]
    assert rows[len(expected) :] == [[row[0], row[2]] for row in expected]


def test_the_request_says_where_each_column_is_in_the_answer(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH)
    dashboard.press("Result: definition, file and request")
    dashboard.press("The request behind this number")
    code = "[...document.querySelectorAll('dialog .answer-fields code')].map(c => c.innerText)"
    places = dashboard.until(f"({code}).length && {code}")
    assert places == ["data[].path", "data[].count", "data[].uniq_anonymous_id"]


def test_a_question_is_built_by_picking_words(dashboard: Dashboard) -> None:
    begun(dashboard)
    dashboard.press("Add to: For each")
    dashboard.until("document.activeElement.getAttribute('aria-label') === 'For each 2'")
    options = dashboard.tab.js(
        "[...document.activeElement.options].map((each) => [each.value, each.text])"
    )
    assert ["name", "Event"] in options
    assert ["visit.channel", "Channel"] in options
    assert ["time:daily", "Day"] in options
    chosen(dashboard, "For each 2", "name")
    dashboard.until("decodeURIComponent(location.search).includes('time:daily\",\"name')")
    dashboard.settle()
    dashboard.press("Table")
    dashboard.settle()
    stored = {row["name"] for row in dashboard.ask("custom_events")}
    assert {row[1] for row in dashboard.rows("Result")} == {"Page view screen_view", *stored}
    heads = dashboard.tab.js(
        "[...document.querySelectorAll('main th[scope=col]')].map((each) => each.innerText)"
    )
    assert heads == ["Day", "Event", "Count"]


def test_every_column_of_every_table_has_words_of_its_own(dashboard: Dashboard) -> None:
    for table in dashboard.client.tables()["tables"]:
        opened(dashboard, {"table": table["name"]})
        options = dashboard.until(
            "(s => s && [...s.options].map((each) => [each.value, each.text]))"
            "(document.querySelector('select[aria-label=\"For each 1\"]'))"
        )
        texts = [text for name, text in options if name != "properties."]
        assert not [text for text in texts if "_" in text]
        assert len(set(texts)) == len(texts)


def test_what_is_added_has_the_focus(dashboard: Dashboard) -> None:
    begun(dashboard)
    for list_, name in (
        ("For each", "For each 2"),
        ("Show", "Show 2: Column"),
        ("Only rows where", "Only rows where 1"),
    ):
        dashboard.press(f"Add to: {list_}")
        dashboard.until(f"document.activeElement.getAttribute('aria-label') === {name!r}")
    dashboard.press("Add to: Only results where")
    dashboard.until(
        "document.activeElement.closest('fieldset')?.innerText.startsWith('Only results')"
    )
    assert dashboard.tab.js("document.activeElement.tagName") == "SELECT"

    dashboard.press("Remove from Only rows where: 1")
    focused = "document.activeElement.getAttribute('aria-label')"
    dashboard.until(f"{focused} === 'Add to: Only rows where'")


def test_a_column_is_chosen_before_what_is_computed_of_it(dashboard: Dashboard) -> None:
    begun(dashboard)
    aggregate = "document.querySelector('select[aria-label=\"Show 1: Computed\"]')"
    assert dashboard.tab.js(f"{aggregate} === null")  # of all rows there is only their number

    chosen(dashboard, "Show 1: Column", "path")
    assert dashboard.until(f"{aggregate}?.value") == "uniq"
    chosen(dashboard, "Show 1: Column", "load_time")
    dashboard.until(f"{aggregate}.value === 'uniq'")  # what was chosen stays where it can
    options = dashboard.tab.js(f"[...{aggregate}.options].map((each) => each.text)")
    assert options[0] == "Count"
    assert "Mean" in options


def test_a_result_is_drawn_as_it_fits(dashboard: Dashboard) -> None:
    for exploration, shape in (
        ({"groups": ["time:hourly"]}, "Line"),
        ({"groups": ["path"]}, "Bars"),
        (BY_PATH, "Table"),
    ):
        opened(dashboard, exploration)
        chosen_tab = "document.querySelector('main .card .tabs [aria-pressed=true]').innerText"
        assert dashboard.until(chosen_tab) == shape


def test_a_custom_query_is_saved_with_the_filters_of_the_page(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH, f="device_type:eq:desktop")
    expected = dashboard.rows("Result")
    dashboard.press("Save …")
    dashboard.type_into("dialog input[name=name]", "Pages on desktops")
    dashboard.press("Save", "dialog")
    dashboard.until("document.querySelector('.card h2')?.innerText === 'Pages on desktops'")
    website = dashboard.tenant.website.id
    [saved] = dashboard.client.saved("explorations", website)
    desktop = {"field": "device_type", "operator": "eq", "value": "desktop"}
    assert saved["customQuery"]["query"]["filters"] == [desktop]
    assert saved["metricsQuery"] is None

    dashboard.open(f"explore/{saved['id']}")
    assert dashboard.rows("Result") == expected
    assert dashboard.tab.js("document.querySelector('.condition .column-select select').value") == (
        "device_type"
    )
    dashboard.client.delete_saved("explorations", saved["id"])


def test_a_filter_takes_words_for_values(dashboard: Dashboard) -> None:
    opened(dashboard, {**BY_PATH, "filters": [{"field": "name", "operator": "eq", "value": ""}]})
    value = ".condition input[list]"
    suggested = dashboard.until(
        "(o => o.length && o.map((each) => [each.value, each.text]))"
        "([...document.querySelectorAll('.condition datalist option')])"
    )
    assert ["Page view", "screen_view"] in suggested
    dashboard.type_into(value, "Page view")
    dashboard.tab.js("document.activeElement.blur()")
    dashboard.until("decodeURIComponent(location.search).includes('\"screen_view\"')")
    dashboard.settle()
    views = {row["name"]: row["pageviews"] for row in dashboard.ask("top_pages")}
    assert {row[0]: int(row[1]) for row in dashboard.rows("Result")} == views
    assert dashboard.tab.js(f"document.querySelector({json.dumps(value)}).value") == "Page view"


def test_groups_after_a_time_are_lines(dashboard: Dashboard) -> None:
    groups = ["time:hourly", "name", "device_type"]
    opened(dashboard, {"groups": groups}, shape="line")
    names = dashboard.until(
        "(l => l.length && l.map((each) => each.innerText.trim()))"
        "([...document.querySelectorAll('.legend li')])"
    )
    select = {"aggregate": "count", "field": "*", "alias": "count"}
    query = {"table": "events", "selects": [select], "groupBy": groups}
    rows = dashboard.tenant.custom(query).json["data"]
    sums: dict[str, int] = {}
    for row in rows:
        event = "Page view" if row["name"] == "screen_view" else row["name"]
        name = f"{event} · {row['device_type'].capitalize()}"
        sums[name] = sums.get(name, 0) + row["count"]
    assert sorted(names) == sorted(sums)
    assert [sums[name] for name in names] == sorted(sums.values(), reverse=True)

    dashboard.press("Show as table")
    table = dashboard.rows("Result")
    totals = [sum(int(row[at + 1]) for row in table) for at in range(len(names))]
    assert totals == [sums[name] for name in names]


def test_each_value_is_a_line_and_has_bars(dashboard: Dashboard) -> None:
    selects: list[dict[str, str]] = BY_PATH["selects"]  # type: ignore[assignment]
    opened(dashboard, {"groups": ["time:daily"], "selects": selects}, shape="line")
    legend = "[...document.querySelectorAll('.legend li')].map((each) => each.innerText.trim())"
    dashboard.until(f"{legend}.length")
    names = dashboard.tab.js(legend)
    dashboard.press("Show as table")
    table = dashboard.rows("Result")

    aliased = [select | {"alias": select["aggregate"]} for select in selects]
    query = {"table": "events", "selects": aliased, "groupBy": ["time:daily"]}
    rows = dashboard.tenant.custom(query).json["data"]
    assert names == ["Count", "Different values: Visitor id"]
    for at, alias in enumerate(("count", "uniq"), 1):
        assert sum(int(row[at]) for row in table) == sum(row[alias] for row in rows)

    dashboard.press("Bars")
    dashboard.until("document.querySelectorAll('main .bars').length === 2")


def test_bars_of_several_groups_are_a_list_for_each_value_of_the_first(
    dashboard: Dashboard,
) -> None:
    count = [{"aggregate": "count", "field": "*"}]
    groups = ["device_type", "path", "name"]
    opened(dashboard, {"table": "events", "selects": count, "groups": groups}, shape="bar")
    heads = dashboard.until(f"({HEADS}).length > 1 && ({HEADS})")

    query = {"table": "events", "selects": [{**count[0], "alias": "n"}], "groupBy": groups}
    rows = dashboard.tenant.custom(query).json["data"]
    assert len(heads) == len({row["device_type"] for row in rows})
    assert all(head.startswith("Device: ") and "Page, Event" in head for head in heads), heads
    shown = dashboard.tab.js("document.querySelectorAll('main .bars tbody tr').length")
    assert shown == len(rows)
    longest = dashboard.tab.js(
        "[...document.querySelectorAll('main .bar')].filter((each) => each.style.width === '100%')"
        ".map((each) => each.closest('tr').querySelector('td').title)"
    )
    assert set(longest) == {f"{max(row['n'] for row in rows):,}"}


def test_a_line_says_what_it_needs(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH, shape="line")
    assert "choose Hour, Day, Week or Month as the first group" in dashboard.text("main .empty")


def test_it_says_what_it_reads_and_gives_files(dashboard: Dashboard) -> None:
    opened(dashboard, BY_PATH)
    dashboard.press("What it reads")
    stored = dashboard.tenant.rows("summary")[0]["total_events"]
    assert f"{stored} rows of the table events" in dashboard.text("dialog li")
    dashboard.press("Close", "dialog")

    dashboard.tab.js(KEEP_FILE)
    for format_, extension in (("csv", "csv"), ("parquet", "parquet"), ("arrow", "arrows")):
        dashboard.press(f"Download all rows as {format_}")
        assert dashboard.until("window.fileName") == file_name(
            dashboard, "explore-events", extension
        )
        if format_ == "csv":
            first = "window.file.arrayBuffer().then((all) => [...new Uint8Array(all).slice(0, 3)])"
            assert bytes(dashboard.tab.js(first)) == BOM_UTF8  # for spreadsheets
            text = dashboard.tab.js("window.file.text()")
            lines = [line.split(",") for line in text.split()]
            assert lines[1:] == rows_of_the_api(dashboard)
        dashboard.tab.js("window.file = window.fileName = null")


def test_a_file_has_more_rows_than_the_table_shows(dashboard: Dashboard) -> None:
    limit = 10
    assert limit < VISITORS
    opened(dashboard, {**BY_PATH, "groups": ["anonymous_id"], "limit": limit})
    assert len(dashboard.rows("Result")) == limit

    dashboard.tab.js(KEEP_FILE)
    dashboard.press("Download all rows as csv")
    dashboard.until("!!window.file")
    text = dashboard.tab.js("window.file.text()")
    assert len(text.split()) == 1 + VISITORS
