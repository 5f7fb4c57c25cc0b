"""The menu of the time range and the arrows beside it; what the chart says under the pointer."""

from typing import Any

import pytest

from tests.web.dashboard import Dashboard

NEXT = "document.querySelector('[aria-label=\"Later time range\"]')"
POINT = """(at) => {
  const { x, y, width, height } = document.querySelector('.u-over').getBoundingClientRect();
  return [x + at * (width - 1), y + height / 2];
}"""
HOVER = """(() => {
  const note = document.querySelector('.hover');
  const box = note?.getBoundingClientRect();
  return note && [box.left, box.right, box.top, box.bottom, innerWidth, note.innerText];
})()"""
MOST_AWAY = 40


def test_the_menu_begins_at_the_chosen_time_range(page: Dashboard) -> None:
    page.open("overview", period="last_30d")
    page.tab.js("document.querySelector('.period [popovertarget]').click()")
    page.until("document.activeElement?.innerText === 'Last 30 days'")


@pytest.mark.parametrize(
    ("view", "compares"),
    [("overview", True), ("events", True), ("shares", False), ("explore", False), ("links", False)],
)
def test_a_comparison_is_offered_where_something_is_compared(
    page: Dashboard, view: str, compares: bool
) -> None:
    page.tab.set_size(1280)
    page.open(view)
    names = page.tab.js(
        "[...document.querySelectorAll('.period button')].map((each) => each.ariaLabel)"
    )
    assert any(str(name).startswith("Time range") for name in names)
    assert any(str(name).startswith("Comparison:") for name in names) is compares


def test_no_arrow_leads_into_the_future(page: Dashboard) -> None:
    page.open("overview", period="last_7d")
    assert page.tab.js(f"{NEXT}.disabled")
    page.press("Earlier time range")
    page.until(f"!{NEXT}.disabled")
    page.press("Later time range")
    page.until(f"{NEXT}.disabled")
    assert "last_7d" not in page.tab.address  # it is the default


def point_at(page: Dashboard, at: float) -> tuple[float, list[Any]]:
    """Move the pointer to a share of the width of the chart: x, and what is said beside it."""
    x, y = page.until(f"document.querySelector('.u-over') && ({POINT})({at})")
    page.tab.tell("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    found: list[Any] = page.until(HOVER)
    assert found[2] - MOST_AWAY <= y <= found[3] + MOST_AWAY
    return x, found


def test_the_values_of_a_bucket_are_beside_the_pointer(page: Dashboard) -> None:
    for width in (1280, 360):
        page.tab.set_size(width)
        page.open("overview", by="hourly")
        page.tab.js("document.querySelector('.plot').scrollIntoView({block: 'center'})")
        for at in (0.0, 0.3, 1.0):
            x, (left, right, _, _, inner, text) = point_at(page, at)
            assert 0 <= left < right <= inner
            assert "Unique visitors" in text
            if width > 360:
                assert left - MOST_AWAY <= x <= right + MOST_AWAY
