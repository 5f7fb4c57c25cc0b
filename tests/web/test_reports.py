"""Reports on the page: made, paused, deleted."""

import pytest

from tests.web.dashboard import TABLE, Dashboard
from tests.web.test_accessibility import set_theme
from tests.web.test_alerts import act, page_problems, remove


def test_a_report_is_made_paused_and_deleted(page: Dashboard) -> None:
    page.open("setup", part="reports")
    page.press("New report", "main")
    page.type_into("dialog input[name=name]", "Weekly numbers")
    page.type_into("dialog input[name=recipients]", "team@shop.example")
    page.press("Save", "dialog form")
    page.until(f"({TABLE})('Reports')?.length === 1")
    row = page.rows("Reports")[0]
    assert row[:3] == ["Weekly numbers", "Every Monday at 7:00 AM", "team@shop.example"]

    act(page, "Weekly numbers", "Pause")
    page.until(f"({TABLE})('Reports')?.[0][0] === 'Weekly numbers paused'")
    act(page, "Weekly numbers", "Resume")
    page.until(f"({TABLE})('Reports')?.[0][0] === 'Weekly numbers'")
    remove(page, "Weekly numbers")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_reports_break_no_rule_of_wcag_and_fit(page: Dashboard, theme: str) -> None:
    set_theme(page, theme)
    page.open("setup", part="reports")
    problems = page_problems(page)
    page.press("New report", "main")
    page.until("document.querySelector('dialog form')")
    assert problems + page_problems(page) == []
