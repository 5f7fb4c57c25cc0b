"""Alerts and channels on the page: made from ready-made choices, muted, tested, deleted."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.web.dashboard import TABLE, Dashboard
from tests.web.test_accessibility import set_theme, violations

WIDTHS = (390, 1440)
REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
PRESET = """(text) => [...document.querySelectorAll("dialog .example")].find(
  (each) => each.querySelector("b").innerText === text)"""
COUNTED = {"metricsQuery": {"metrics": ["page_views"]}}
FOCUSED = "document.activeElement?.name"


@pytest.fixture
def refused(chromium: Chromium, small: Tenant) -> Iterator[Dashboard]:
    """A page of which one request is refused."""
    tab = Tab.opened(chromium)
    dashboard = Dashboard(tab, small)
    dashboard.take_session()
    yield dashboard
    dashboard.check_tab(expected=[REFUSED])
    tab.close()


def begin(page: Dashboard, preset: str) -> None:
    """Open the form of a new alert with one of the ready-made choices."""
    page.press("New alert", "main")
    page.until(f"(each => each && (each.click(), true))(({PRESET})('{preset}'))")
    page.until("document.querySelector('dialog form')")


def save(page: Dashboard, path: str, **members: Any) -> str:
    """Save a record by the API; its id."""
    headers = {"authorization": f"Bearer {page.tenant.key}", "content-type": "application/json"}
    url = f"{page.url}/v1/{path}?website_id={page.tenant.website.id}"
    reply = call("POST", url, members, headers)
    assert reply.status == 201, reply.body
    made: str = reply.json["data"]["id"]
    return made


def delete(page: Dashboard, path: str, record: str) -> None:
    """Delete a record by the API."""
    headers = {"authorization": f"Bearer {page.tenant.key}"}
    reply = call("DELETE", f"{page.url}/v1/{path}/{record}", None, headers)
    assert reply.status < 300, reply.body


def choose(page: Dashboard, name: str, value: str) -> None:
    """Choose a value of a select of the open dialog."""
    page.until(
        f"(list => list && (list.value = '{value}', list.dispatchEvent(new Event('change', "
        f"{{ bubbles: true }})), true))(document.querySelector('dialog select[name={name}]'))"
    )


def act(page: Dashboard, name: str, action: str) -> None:
    """Choose an action in the menu of an alert or a report."""
    page.press(f"Actions for {name}")
    page.press(action)


def remove(page: Dashboard, name: str) -> None:
    """Delete an alert or a report, and wait until its row is gone."""
    act(page, name, "Delete")
    page.press("Delete", "dialog form")
    page.until("!document.querySelector('dialog')")
    page.until(f"!document.querySelector('main').innerText.includes('{name}')")


def page_problems(page: Dashboard) -> list[str]:
    """What is wrong with the page as it is, at the width of a phone and of a desk."""
    problems = []
    for width in WIDTHS:
        page.tab.set_size(width)
        problems += violations(page)
        wide = "[document.documentElement, document.querySelector('dialog')]"
        if page.tab.js(f"{wide}.some((each) => each && each.scrollWidth > innerWidth)"):
            problems.append(f"wider than {width}")
    return problems


def test_an_alert_is_made_muted_changed_and_deleted(page: Dashboard) -> None:
    page.open("setup", part="alerts")
    begin(page, "Many errors")
    page.type_into("dialog input[name=threshold]", "25")
    assert page.text("dialog .alert-rule") == "More than 25 errors in an hour"
    page.type_into("dialog input[name=recipients]", "ada@shop.example, ops@shop.example")
    page.press("Save", "dialog form")

    name = "More than 25 errors in an hour"
    page.until(f"({TABLE})('Alerts')?.length === 1")
    [row] = page.rows("Alerts")
    assert (row[0], row[2]) == (name, "ada@shop.example, ops@shop.example")

    act(page, name, "Mute until I turn it on")
    page.until(f"({TABLE})('Alerts')?.[0][1].includes('Muted until you turn it on')")
    act(page, name, "Turn on again")
    page.until(f"({TABLE})('Alerts')?.[0][1].includes('Muted') === false")

    act(page, name, "Edit")
    page.type_into("dialog input[name=name]", "Too many errors")
    page.press("Save", "dialog form")
    page.until(f"({TABLE})('Alerts')?.[0][0].startsWith('Too many errors')")
    assert page.rows("Alerts")[0][0].split("\n") == ["Too many errors", name]

    act(page, "Too many errors", "Send a test")
    page.until("document.querySelectorAll('dialog .deliveries li').length === 2")
    page.press_keys("Escape")
    act(page, "Too many errors", "History")
    page.until("document.querySelector('dialog tbody th b')?.innerText === 'Test'")
    page.press_keys("Escape")
    page.until("!document.querySelector('dialog')")
    remove(page, "Too many errors")


def test_what_an_alert_refuses_is_said_in_the_words_of_the_form(refused: Dashboard) -> None:
    refused.open("setup", part="alerts")
    begin(refused, "Nothing arrived")
    refused.type_into("dialog input[name=recipients]", "ada@")
    refused.press("Save", "dialog form")
    assert "“E-mail addresses” is 'ada@'" in refused.text("dialog .error")


def test_a_new_alert_needs_no_mouse(page: Dashboard) -> None:
    page.open("setup", part="alerts")
    page.until(
        "(each => each && (each.focus(), true))([...document.querySelectorAll('main button')]"
        ".find((each) => each.innerText.trim() === 'New alert'))"
    )
    page.press_keys("Enter")
    page.until(
        "(each => each?.closest('dialog').open && (each.focus(), document.activeElement === each))"
        f"(({PRESET})('Unusual traffic'))"
    )
    page.press_keys("Enter")
    page.until(f"{FOCUSED} === 'choice'")
    page.press_keys("Escape")
    page.until("document.activeElement?.innerText?.trim() === 'New alert'")


def test_explore_begins_an_alert_about_its_question(page: Dashboard) -> None:
    page.open("explore", ask='{"metrics":["page_views"],"dimensions":["time:day"]}')
    page.press("Alert me")
    page.type_into("dialog input[name=threshold]", "500")
    page.press("Save", "dialog form")
    page.press("Open alerts")

    name = "More than 500 page views in a day"
    page.until(f"({TABLE})('Alerts')?.some((row) => row[0] === '{name}')")
    remove(page, name)


def test_an_alert_about_groups_says_that_it_watches_their_total(page: Dashboard) -> None:
    page.open("explore", ask='{"metrics":["page_views"],"dimensions":["country"]}')
    page.press("Alert me")
    assert page.text("dialog .alert-rule + small") == "Watches the total, without Country."
    choose(page, "condition", "new")
    page.until("!document.querySelector('dialog .alert-rule + small')")


def test_an_alert_about_several_currencies_is_not_offered(refused: Dashboard) -> None:
    ask = '{"metrics":[{"metric":"revenue"}],"dimensions":["currency"]}'
    refused.open("explore", ask=ask)
    refused.until(
        "document.querySelector('main').innerText.includes('No alert: a total may be in')"
    )
    assert "Alert me" not in refused.text("main")


def test_an_alert_about_a_saved_exploration_has_its_name(page: Dashboard) -> None:
    query = {"metrics": ["page_views"]}
    exploration = save(page, "explorations", name="Reading", metricsQuery=query)
    page.open(f"explore/{exploration}")
    page.press("Alert me")
    page.type_into("dialog input[name=threshold]", "500")
    name = "Reading: More than 500 page views in a day"
    page.until(f"document.querySelector('dialog .alert-rule').innerText === '{name}'")
    delete(page, "explorations", exploration)


def test_a_deleted_channel_of_an_alert_is_named_so_until_it_is_cleared(page: Dashboard) -> None:
    channel = save(page, "channels", name="Ops", kind="ntfy", address="https://ntfy.sh/ops")
    quiet = {"quietHours": "22:00-07:00", "every": "hour", "condition": "nothing"}
    save(page, "alerts", name="Silence", channels=[channel], **COUNTED, **quiet)
    delete(page, "channels", channel)

    page.open("setup", part="alerts")
    page.until(f"({TABLE})('Alerts')?.[0][2] === 'deleted channel'")
    state = page.rows("Alerts")[0][1].split("\n")
    assert "Quiet 22:00–07:00" in state
    assert "Nobody is told." in state

    act(page, "Silence", "Edit")
    box = "document.querySelector('dialog input[name=channels]')"
    assert page.until(f"{box}?.checked && {box}.closest('label').innerText.trim()") == (
        "deleted channel"
    )
    assert "Nobody is told." in page.text("dialog form")
    page.tab.js(f"{box}.click()")
    page.press("Save", "dialog form")
    page.until(f"({TABLE})('Alerts')?.[0][2] === 'nobody'")
    remove(page, "Silence")


def test_a_change_of_weeks_has_one_comparison_without_negative_percents(page: Dashboard) -> None:
    page.open("setup", part="alerts")
    begin(page, "A change against before")
    choose(page, "every", "week")
    page.until("document.querySelectorAll('dialog select[name=against] option').length === 1")
    page.type_into("dialog input[name=threshold]", "-30")
    assert page.tab.js("document.querySelector('dialog form').checkValidity()") is False


def test_a_channel_is_changed_without_its_address_anew(page: Dashboard) -> None:
    channel = save(page, "channels", name="Ops", kind="ntfy", address="https://ntfy.sh/ops")
    page.open("setup", part="channels")
    page.press("Edit Ops")
    assert page.tab.js("document.querySelector('dialog select[name=kind]').disabled") is True
    page.type_into("dialog input[name=name]", "Operations")
    page.press("Save", "dialog form")
    page.until(f"({TABLE})('Channels')?.[0][0] === 'Operations'")
    assert page.rows("Channels")[0][:3] == ["Operations", "ntfy", "ntfy.sh"]

    page.press("Edit Operations")
    page.type_into("dialog input[name=address]", "http://ntfy.shop.example/ops")
    page.until("document.querySelector('dialog form').innerText.includes('By http:// only')")
    page.press("Save", "dialog form")
    page.until(f"({TABLE})('Channels')?.[0][2] === 'ntfy.shop.example'")
    delete(page, "channels", channel)


def test_the_secret_of_a_webhook_is_shown_once(page: Dashboard) -> None:
    page.open("setup", part="channels")
    page.press("New channel", "main")
    page.until(
        "(list => list && (list.value = 'webhook', list.dispatchEvent(new Event('change', "
        "{ bubbles: true }))))(document.querySelector('dialog select[name=kind]'))"
    )
    page.type_into("dialog input[name=name]", "Own systems")
    page.type_into("dialog input[name=address]", "https://hooks.shop.example/tidemark")
    page.press("New channel", "dialog form")
    assert page.text(".snippet pre").startswith("whsec_")
    page.until(f"({TABLE})('Channels')?.length === 1")
    assert page.rows("Channels")[0][:3] == ["Own systems", "Webhook", "hooks.shop.example"]
    page.press("Test Own systems")
    page.until("document.querySelector('main')?.innerText.includes('was not delivered')")

    page.open("setup", part="channels")
    page.press("Delete Own systems")
    assert page.tab.js("document.querySelector('.snippet')") is None
    page.press("Delete", "dialog form")
    page.until("document.querySelector('main .empty')")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_alerts_and_channels_break_no_rule_of_wcag_and_fit(page: Dashboard, theme: str) -> None:
    set_theme(page, theme)
    page.open("setup", part="channels")
    problems = page_problems(page)
    page.press("New channel", "main")
    page.until("document.querySelector('dialog form')")
    problems += page_problems(page)
    page.open("setup", part="alerts")
    problems += page_problems(page)
    begin(page, "A change against before")
    problems += page_problems(page)
    assert problems == []
