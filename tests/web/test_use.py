"""How the page feels: numbers are asked again, and the keyboard goes on where it was."""

from datetime import UTC, datetime

from tests.flow.tenant import Tenant
from tests.installation import eventually
from tests.web.dashboard import Dashboard
from tests.web.test_live import view

KEYS = "1234567890ebxplsu"
BEFORE_NOW = "Date.now = (now => () => now() + 61_000)(Date.now)"
"""The clock of the page a minute later."""


def total(dashboard: Dashboard) -> int:
    return int(dashboard.text(".total-value").replace(",", ""))


def is_stored(tenant: Tenant, path: str) -> bool:
    """Whether the query service counts a page view of today."""
    today = str(datetime.now(UTC).date())
    counts = tenant.grouped_counts("events", "path", startDate=today, endDate=today)
    return any(path in str(row[0]) for row in counts)


def test_numbers_are_asked_again_by_a_click_and_with_time(
    dashboard: Dashboard, shop: Tenant
) -> None:
    dashboard.open("overview", period="today")
    dashboard.until("document.querySelector('button.freshness')")
    before = total(dashboard)

    # Each click begins anew, so one click, when there is something to see.
    view(shop, "/again")
    eventually(lambda: is_stored(shop, "/again"), 60)
    dashboard.tab.js("document.querySelector('button.freshness').click()")
    eventually(lambda: total(dashboard) > before, 60)
    before = total(dashboard)

    view(shop, "/and-again")
    # Once: the page asks with its clock's next minute, and then only after a minute of ours.
    eventually(lambda: is_stored(shop, "/and-again"), 60)
    dashboard.tab.js(BEFORE_NOW)
    eventually(lambda: total(dashboard) > before, 60)


def test_the_focus_returns_when_a_dialog_was_applied(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    dashboard.tab.js("document.getElementById('add-filter').focus()")
    dashboard.press("Filter", ".filters")
    dashboard.until("document.activeElement?.closest('.filter-panel')")
    dashboard.type_into(".filter-panel [role=combobox]", "/pricing")
    dashboard.press("Apply", ".filter-panel")
    dashboard.until("!document.querySelector('.filter-panel')")
    dashboard.until("document.activeElement?.id === 'add-filter'")


def test_a_slash_begins_a_filter(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    dashboard.tab.js(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))"
    )
    dashboard.until("document.activeElement?.closest('.filter-panel')")


def test_the_numbers_of_the_views_are_shown(page: Dashboard) -> None:
    page.tab.set_size(1280)
    page.open("overview")
    shown = "[...document.querySelectorAll('nav.side a')].map((a) => [a.dataset.key, a.innerText])"
    views = page.tab.js(shown)
    numbered = [[key, name] for key, name in views]
    assert [key for key, _ in numbered] == list(KEYS)
    assert numbered[:2] == [["1", "Overview"], ["2", "Live"]]
    hints = page.tab.js("[...document.querySelectorAll('nav.side a')].map((a) => a.title)")
    assert hints == [f"{name} ({key})" for key, name in numbered]

    page.press("Menu")
    page.press("Keyboard shortcuts", ".popover:popover-open")
    keys = dict(
        page.until(
            "[...document.querySelectorAll('dl.keys dt')].map((key) =>"
            " [key.innerText, key.nextElementSibling.innerText])"
        )
    )
    assert [[key, keys[key]] for key in KEYS] == numbered
    page.press("Close", "dialog")
    page.tab.js(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '3', bubbles: true}))"
    )
    page.until("location.pathname.endsWith('/sessions')")
    page.tab.js(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'e', bubbles: true}))"
    )
    page.until("location.pathname.endsWith('/errors')")


def test_the_first_tab_of_a_page_skips_to_its_content(page: Dashboard) -> None:
    page.tab.set_size(1280)
    page.open("overview")
    assert page.tab.js("document.activeElement === document.body")
    page.tab.tell("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9)
    page.until("document.activeElement.className === 'skip'")
    page.tab.js("document.activeElement.blur()")
    page.press("Live", "nav")
    page.until("document.activeElement.id === 'content'")


def test_a_definition_is_a_sentence_with_code(page: Dashboard) -> None:
    page.open("overview")
    page.press("Overview: definition, file and request")
    note = "document.querySelector('.popover:popover-open .menu-text')"
    page.until(f"{note}?.innerText")
    assert page.tab.js(f"{note}.innerText").startswith("Unique visitors: each counts once")
    assert page.tab.js(f"{note}.querySelector('code').innerText") == "anonymousId"
    assert "`" not in page.tab.js(f"{note}.innerText")


def test_a_click_beside_a_form_keeps_what_was_typed(dashboard: Dashboard) -> None:
    dashboard.open("goals")
    dashboard.press("New goal")
    dashboard.type_into("dialog input[name=name]", "Half")
    dashboard.tab.js("document.querySelector('dialog').click()")
    assert dashboard.tab.js("document.querySelector('dialog input[name=name]').value") == "Half"


def test_a_menu_fits_into_a_small_window(dashboard: Dashboard) -> None:
    dashboard.tab.set_size(360, 640)
    dashboard.open("overview")
    dashboard.tab.js("document.querySelector('.period button[popovertarget]').click()")
    apply = "document.querySelector('.popover:popover-open form.dates button')"
    dashboard.until(apply)
    box = dashboard.tab.js(
        f"({apply}.scrollIntoView(), [{apply}.getBoundingClientRect().bottom, innerHeight])"
    )
    assert box[0] <= box[1] == 640
