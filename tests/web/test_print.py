"""A printed view is a report: its dates are on it, its chart is whole, and no button is."""

from tests.flow.tenant import DAY
from tests.web.dashboard import Dashboard

WIDE = """(() => {
  const edge = (name) => document.querySelector(name).getBoundingClientRect().right;
  return edge(".series canvas") - edge(".series");
})()"""
SHOWN = """[...document.querySelectorAll(
  ".period button, .chip-remove, .card-actions button, .rail a, .rail button")]
  .filter((each) => each.checkVisibility()).map((each) => each.innerText)"""
PAPER = 718
"""Width of an A4 page within its margins, in CSS pixels."""
NOT_RESIZED = "window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} }"
"""As in print: the page is laid out anew, and none of its code is told."""


def test_a_printed_overview_is_a_report(dashboard: Dashboard) -> None:
    dashboard.tab.tell("Page.addScriptToEvaluateOnNewDocument", source=NOT_RESIZED)
    dashboard.tab.set_size(1400)
    dashboard.open("overview")
    assert not dashboard.tab.js("document.querySelector('.print-only').checkVisibility()")

    dashboard.tab.tell("Emulation.setEmulatedMedia", media="print")
    dashboard.tab.set_size(PAPER)

    assert dashboard.until(f"{WIDE} <= 0 || null")
    printed = dashboard.text(".print-only")
    assert str(DAY.year) in printed
    assert "Comparison: Previous period" in printed
    assert dashboard.tab.js(SHOWN) == []
