"""Reports on the page: made, paused, deleted."""

import pytest

from tests.http_client import call
from tests.installation import eventually
from tests.web.dashboard import TABLE, Dashboard
from tests.web.test_accessibility import set_theme
from tests.web.test_alerts import COUNTED, act, delete, page_problems, remove, save


def test_a_report_is_made_paused_and_deleted(page: Dashboard) -> None:
    page.open("setup", part="reports")
    page.press("New report", "main")
    page.type_into("dialog input[name=name]", "Weekly numbers")
    assert "Nobody is told." in page.text("dialog form")
    page.type_into("dialog input[name=recipients]", "team@shop.example")
    page.press("Save", "dialog form")
    page.until(f"({TABLE})('Reports')?.length === 1")
    row = page.rows("Reports")[0]
    assert row[:4] == ["Weekly numbers", "Every Monday at 7:00 AM", "team@shop.example", "–"]
    assert row[4].endswith("7:00\u00a0AM")

    act(page, "Weekly numbers", "Pause")
    page.until(f"({TABLE})('Reports')?.[0][0] === 'Weekly numbers paused'")
    act(page, "Weekly numbers", "Resume")
    page.until(f"({TABLE})('Reports')?.[0][0] === 'Weekly numbers'")

    act(page, "Weekly numbers", "Send now")
    page.press("Send now", "dialog form")
    page.until("document.querySelector('dialog .deliveries')?.innerText.includes('team@')")
    page.press_keys("Escape")
    page.until("!document.querySelector('dialog')")
    assert page.rows("Reports")[0][3] != "–"
    remove(page, "Weekly numbers")


def test_a_deleted_exploration_of_a_report_can_be_cleared(page: Dashboard) -> None:
    exploration = save(page, "explorations", name="Reading", **COUNTED)
    report = save(page, "reports", name="Tables", schedule="weekly", explorations=[exploration])
    delete(page, "explorations", exploration)

    page.open("setup", part="reports")
    act(page, "Tables", "Edit")
    box = "document.querySelector('dialog input[name=explorations]')"
    assert page.until(f"{box}?.checked && {box}.closest('label').innerText.trim()") == (
        "deleted exploration"
    )
    page.tab.js(f"{box}.click()")
    page.press("Save", "dialog form")
    page.until("!document.querySelector('dialog')")
    headers = {"authorization": f"Bearer {page.tenant.key}"}
    stored = call("GET", f"{page.url}/v1/reports/{report}", None, headers).json["data"]
    assert stored["explorations"] == []
    remove(page, "Tables")


def test_the_preview_is_the_mail_of_the_last_period(page: Dashboard) -> None:
    page.open("setup", part="reports")
    page.press("New report", "main")
    page.type_into("dialog input[name=name]", "Monthly numbers")
    page.press("Save", "dialog form")
    act(page, "Monthly numbers", "Preview")
    eventually(lambda: page.tab.received("/preview?format=html"))
    assert page_problems(page) == []
    page.press_keys("Escape")
    page.until("!document.querySelector('dialog')")
    remove(page, "Monthly numbers")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_reports_break_no_rule_of_wcag_and_fit(page: Dashboard, theme: str) -> None:
    set_theme(page, theme)
    page.open("setup", part="reports")
    problems = page_problems(page)
    page.press("New report", "main")
    page.until("document.querySelector('dialog form')")
    assert problems + page_problems(page) == []
