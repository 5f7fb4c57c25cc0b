"""Funnels built by picking steps, and goals: numbers, the visitors behind them, changes."""

import pytest

from tests.http_client import call
from tests.installation import eventually
from tests.web.dashboard import Dashboard, percent

STEPS = [{"path": "/"}, {"path": "/pricing"}, {"event": "signup"}]
SIDEWAYS = """document.documentElement.scrollWidth
  - document.documentElement.clientWidth"""


def test_a_funnel_is_built_by_hand_and_shows_the_numbers_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("funnels")
    choose(dashboard, "Step 2", "/pricing")
    dashboard.press("Step")
    dashboard.tab.js(
        "(s => { s.value = 'event'; s.dispatchEvent(new Event('change', {bubbles: true})); })"
        "(document.querySelector('select[aria-label=\"Step 3: kind of step\"]'))"
    )
    choose(dashboard, "Step 3", "signup")
    dashboard.until("document.querySelectorAll('.funnel li').length === 3")
    dashboard.settle()

    rows = dashboard.ask("funnel", steps=STEPS)
    texts = dashboard.tab.js(
        "[...document.querySelectorAll('.funnel-numbers')].map((each) => each.innerText)"
    )
    for row, following, text in zip(rows, [*rows[1:], None], texts, strict=True):
        assert f"{row['visitors']} visitors" in text
        assert f"{percent(row['conversion_rate'], 2)} of step 1" in text
        assert following is None or f"{following['dropped']} did not continue" in text
    assert "steps=path%3A%252F" in dashboard.tab.address or "steps=path:" in dashboard.tab.address


def test_a_funnel_over_time_adds_up_to_the_funnel(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,path:%2Fpricing,event:signup")
    legend = "[...document.querySelectorAll('.legend li')].map((each) => each.innerText)"
    assert dashboard.until(f"({legend}).length && {legend}") == [
        "Visitors who began",
        "Completed (right)",
    ]
    dashboard.press("Show as table", ".series-shapes")
    first, *_, last = dashboard.ask("funnel", steps=STEPS)
    shown = [(row[1], row[2]) for row in dashboard.rows("Over time")]
    assert sum(int(entered) for entered, _ in shown) == first["visitors"]
    whole = [
        int(entered) * float(rate.rstrip("%")) / 100 for entered, rate in shown if entered != "0"
    ]
    assert round(sum(whole)) == last["visitors"]


def test_a_funnel_by_groups_is_a_table_with_the_numbers_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,path:%2Fpricing,event:signup", breakdown="timezone")
    rows = dashboard.ask("funnel", steps=STEPS, breakdown="timezone")
    groups = [rows[at : at + 3] for at in range(0, len(rows), 3)]
    assert len(groups) == 3
    table = [[cell.split("\n")[0] for cell in row] for row in dashboard.rows("Funnel by Time zone")]
    assert table == [
        [
            group[0]["breakdown"],
            str(group[0]["visitors"]),
            *(percent(step["conversion_rate"], 2) for step in group[1:]),
            str(group[2]["visitors"]),
        ]
        for group in groups
    ]
    whole = dashboard.ask("funnel", steps=STEPS)
    footer = dashboard.tab.js(
        "[...document.querySelectorAll('.funnel-groups tfoot :is(th, td)')]"
        ".map((cell) => cell.innerText.trim())"
    )
    assert footer[1:] == [
        str(whole[0]["visitors"]),
        *(percent(step["conversion_rate"], 2) for step in whole[1:]),
        str(whole[2]["visitors"]),
    ]


def test_groups_are_sorted_and_one_is_shown_as_the_funnel(dashboard: Dashboard) -> None:
    steps = "path:%2F,path:%2Fpricing,event:signup"
    dashboard.open("funnels", steps=steps, breakdown="device_type", sort="step_3:asc")
    rows = dashboard.ask("funnel", steps=STEPS, breakdown="device_type")
    groups = [rows[at : at + 3] for at in range(0, len(rows), 3)]
    lowest = min(groups, key=lambda group: group[2]["conversion_rate"])
    first = dashboard.rows("Funnel by Device")[0]
    assert first[0] == str(lowest[0]["breakdown"]).capitalize()

    dashboard.press(first[0], ".funnel-groups")
    dashboard.until("location.search.includes('group=')")
    total = f"{lowest[2]['visitors']} of {lowest[0]['visitors']}"
    assert total in dashboard.text(".funnel-total")
    dashboard.tab.js("document.querySelector('.funnel .reached').click()")
    dashboard.until("document.querySelector('dialog tbody tr')")
    listed = "document.querySelectorAll('dialog tbody tr').length"
    assert dashboard.tab.js(listed) == lowest[0]["visitors"]


def test_a_funnel_is_split_by_every_dimension_and_property(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="event:signup,event:purchase")
    split = "[...[...document.querySelectorAll('.settings select')].at(-1).options]"
    fields = f"{split}.map((each) => each.value)"
    dashboard.until(f"{fields}.includes('properties.plan')")
    assert {"", "browser_name", "os_name", "visit.entry_page", "visit.utm_source"} <= set(
        dashboard.tab.js(fields)
    )


def test_a_new_step_is_of_the_kind_of_the_one_before(page: Dashboard) -> None:
    kinds = "[...document.querySelectorAll('.step-inputs select')].map((each) => each.value)"
    page.open("funnels", steps="path:%2F,event:signup")
    page.press("Step")
    page.until("document.querySelectorAll('.step-inputs').length === 3")
    assert page.tab.js(kinds) == ["path", "event", "event"]
    page.press("Insert a step after step 1")
    page.until("document.querySelectorAll('.step-inputs').length === 4")
    assert page.tab.js(kinds) == ["path", "path", "event", "event"]


def test_a_step_that_nobody_did_is_marked(dashboard: Dashboard) -> None:
    unseen = "[...document.querySelectorAll('.steps .unseen')].map((each) => each.innerText)"
    dashboard.open("funnels", steps="path:%2F,path:%2Fprice,path:%2Fpri*")
    dashboard.until(f"{unseen}.length")
    assert dashboard.tab.js(unseen) == ["Not seen in this time range."]

    choose(dashboard, "Step 2", "/pricing")
    dashboard.until(f"!{unseen}.length")


def test_a_funnel_that_nobody_entered_has_no_bar(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2Fnowhere,path:%2Fpricing")
    assert dashboard.text(".funnel-total") == "Nobody did the first step in this time range."
    assert dashboard.tab.js("document.querySelectorAll('.funnel-track').length") == 2
    assert dashboard.tab.js("document.querySelectorAll('.funnel-track > *').length") == 0


def test_a_goal_that_does_not_exist_is_named_in_a_plain_sentence(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,goal:Gone")
    text = dashboard.text("section[aria-label=Funnel] .empty")
    assert text.startswith("There is no goal ")
    assert "Gone" in text
    assert "parameters[0]" not in dashboard.text("main")


def test_who_left_a_funnel_is_listed(dashboard: Dashboard) -> None:
    dashboard.open("funnels", steps="path:%2F,path:%2Fpricing")
    dashboard.until("document.querySelector('.funnel .dropped')")
    dashboard.tab.js("document.querySelector('.funnel .dropped').click()")
    dashboard.until("document.querySelector('dialog tbody tr')")
    of = {"name": "funnel", "steps": STEPS[:2], "step": 2, "outcome": "dropped"}
    listed = dashboard.visitor_ids("dialog")
    assert listed == [row["visitor_id"] for row in dashboard.ask("visitors", of=of)]
    assert listed


@pytest.mark.long
def test_a_goal_is_made_changed_and_removed(dashboard: Dashboard) -> None:
    dashboard.open("goals")
    dashboard.press("New goal")
    dashboard.type_into("dialog input[name=name]", "Bought")
    choose(dashboard, "Reached by", "purchase")
    dashboard.type_into("dialog input[name=value]", "total")
    dashboard.press("Save", "dialog")
    dashboard.until("!document.querySelector('dialog')")
    dashboard.settle()

    goal = {"event": "purchase", "value": "properties.total"}
    [row] = dashboard.ask("goals", goals=[goal])
    [shown] = dashboard.rows("Goals")
    whole = dashboard.ask("summary_metrics")[0]
    mean = round(row["value"] / row["conversions"], 2)
    assert shown[0].split() == ["Bought", "Event", "purchase"]
    assert shown[2] == str(row["conversions"])
    assert shown[4:] == [
        str(row["visitors"]),
        percent(row["conversion_rate"], 2),
        percent(100 * row["sessions"] / whole["sessions"], 2),
        f"€{row['value']:,.2f}\navg €{mean:,.2f}",
        "",
    ]
    points = "document.querySelector('.goals .sparkline path.line, .goals .sparkline circle')"
    dashboard.until(points)
    assert row["conversions"] > 0

    [first, *_] = dashboard.ask("time_to_convert", goal={"goal": "Bought"})
    delay = dashboard.rows("Time to convert: Bought")
    assert delay == [["The same day", str(first["visitors"])]]
    assert first["visitors"] == row["visitors"]

    dashboard.tab.set_size(1440)  # a narrow card has them in one line
    dashboard.open("overview")
    rate = percent(row["conversion_rate"], 2)
    wanted = ["Bought", rate, str(row["conversions"]), f"€{row['value']:,.2f}"]
    eventually(lambda: dashboard.rows("Goals") == [wanted], 60)

    dashboard.open("goals")
    dashboard.press("Edit the goal Bought")
    kind = "document.querySelector('dialog select')"
    dashboard.tab.js(f"{kind}.value = 'path'; {kind}.dispatchEvent(new Event('change'))")
    choose(dashboard, "Reached by", "pricing")
    dashboard.press("Save", "dialog")
    dashboard.until("!document.querySelector('dialog')")
    dashboard.settle()
    [row] = dashboard.ask("goals", goals=[{"path": "/pricing"}])
    assert row["conversions"] > 0
    eventually(lambda: dashboard.rows("Goals")[0][2] == str(row["conversions"]), 60)

    dashboard.press("Edit the goal Bought")
    dashboard.press("Delete …", "dialog")
    dashboard.press("Delete", "dialog")
    dashboard.until("document.querySelector('main .empty')")


def test_more_goals_than_one_request_answers_have_pages(dashboard: Dashboard) -> None:
    tenant = dashboard.tenant
    url, headers = f"{dashboard.url}/v1/goals", {"x-api-key": tenant.key}
    ids = []
    for number in range(21):
        goal = {"name": f"Goal {number}", "event": "purchase"}
        made = call("POST", f"{url}?website_id={tenant.website.id}", goal, headers)
        ids.append(made.json["data"]["id"])

    dashboard.open("goals")
    assert len(dashboard.rows("Goals")) == 20
    dashboard.tab.set_size(360)
    dashboard.tab.js("document.querySelector('.pages span').textContent = '201–220 of 900'")
    assert dashboard.tab.js(SIDEWAYS) == 0
    dashboard.press("Next page", "main")
    eventually(lambda: len(dashboard.rows("Goals")) == 1, 60)
    for goal_id in ids:
        assert call("DELETE", f"{url}/{goal_id}", None, headers).status == 200


def choose(dashboard: Dashboard, name: str, value: str) -> None:
    """Type into the input with this name, and leave it."""
    dashboard.type_into(f"input[aria-label='{name}']", value)
    dashboard.tab.js("document.activeElement.blur()")
