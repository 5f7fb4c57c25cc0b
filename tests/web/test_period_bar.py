"""The menu of the time range with its calendar, and the arrows; the hint at the pointer."""

from typing import Any

import pytest

from tests.flow.tenant import DAY
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
    page.until("document.activeElement?.innerText.startsWith('Last 30 days')")


IN_AUCKLAND = "2026-03-31T12:30:00Z"
"""It is Wednesday, 1 April, 01:30 there, 13 hours before UTC."""
AT = f"""Date.now = () => Date.parse("{IN_AUCKLAND}");
window.bodies = [];
window.fetch = ((fetch) => (url, options) => {{
  if (options?.body) window.bodies.push(JSON.parse(options.body));
  return fetch(url, options);
}})(window.fetch);"""
TYPED_DATES = "[...document.querySelectorAll('.typed-dates input')].map((each) => each.value)"
RANGE_OF_QUERY = """window.bodies
  .filter((each) => each.parameters?.some(({ name }) => name === "summary_metrics"))
  .map((body) => ["preset", "startDate", "endDate"].map((name) => body[name] ?? null))[0]"""


def open_menu(page: Dashboard) -> None:
    """Open the menu of the time range, with its calendar."""
    page.tab.js("document.querySelector('.period [popovertarget]').click()")
    page.until("document.querySelector('.period-menu calendar-range')")


@pytest.mark.parametrize(
    ("preset", "first", "last", "asked"),
    [
        ("today", "04/01/2026", "04/01/2026", ["today", None, None]),
        ("yesterday", "03/31/2026", "03/31/2026", ["yesterday", None, None]),
        # The running hour and the 23 before it, as instants.
        ("last_24h", "03/31/2026", "04/01/2026", [None, "2026-03-30T13:00Z", "2026-03-31T12:59Z"]),
        ("last_7d", "03/26/2026", "04/01/2026", ["last_7d", None, None]),
        ("last_28d", "03/05/2026", "04/01/2026", [None, "2026-03-05", "2026-04-01"]),
        ("last_30d", "03/03/2026", "04/01/2026", ["last_30d", None, None]),
        ("last_90d", "01/02/2026", "04/01/2026", ["last_90d", None, None]),
        ("last_12m", "04/02/2025", "04/01/2026", [None, "2025-04-02", "2026-04-01"]),
        ("this_week", "03/30/2026", "04/01/2026", ["this_week", None, None]),
        ("last_week", "03/23/2026", "03/29/2026", ["last_week", None, None]),
        ("this_month", "04/01/2026", "04/01/2026", ["this_month", None, None]),
        ("last_month", "03/01/2026", "03/31/2026", ["last_month", None, None]),
        ("this_quarter", "04/01/2026", "04/01/2026", ["this_quarter", None, None]),
        ("last_quarter", "01/01/2026", "03/31/2026", ["last_quarter", None, None]),
        ("this_year", "01/01/2026", "04/01/2026", ["this_year", None, None]),
        ("last_year", "01/01/2025", "12/31/2025", ["last_year", None, None]),
    ],
)
def test_a_preset_has_the_days_of_the_time_zone(
    page: Dashboard, preset: str, first: str, last: str, asked: list[str | None]
) -> None:
    page.tab.before_each(AT)
    page.open("overview", period=preset, tz="Pacific/Auckland")
    open_menu(page)

    assert page.tab.js(TYPED_DATES) == [first, last]
    assert page.tab.js(RANGE_OF_QUERY) == asked


def test_all_time_begins_with_the_first_event(page: Dashboard) -> None:
    page.open("overview", period="all")
    open_menu(page)

    assert page.tab.js(TYPED_DATES)[0] == f"{DAY:%m/%d/%Y}"
    assert page.text(".total-value") == "1"
    assert not page.tab.js("!!document.querySelector('[aria-label^=Comparison]')")


def test_a_letter_chooses_a_time_range_also_in_the_menu(page: Dashboard) -> None:
    page.open("overview")
    open_menu(page)
    page.tab.tell("Input.dispatchKeyEvent", type="keyDown", key="f", text="f")
    page.until("location.search.includes('period=last_28d')")
    page.until("!document.querySelector('.popover:popover-open')")
    page.tab.js("document.activeElement.blur()")
    page.tab.tell("Input.dispatchKeyEvent", type="keyDown", key="q", text="q")
    page.until("location.search.includes('period=this_quarter')")


def test_a_range_is_chosen_in_the_calendar_by_keyboard(page: Dashboard) -> None:
    page.open("overview", period="2026-03-05..2026-03-06")
    open_menu(page)
    months = "[...document.querySelectorAll('.period-menu calendar-month')]"
    day = f"{months}.map((each) => each.shadowRoot?.querySelector('button[tabindex=\\'0\\']'))"
    page.until(f"({day}.find(Boolean))?.ariaLabel === 'March 6'")
    page.tab.js(f"{day}.find(Boolean).focus()")
    focused = f"{months}.map((each) => each.shadowRoot?.activeElement).find(Boolean)"

    page.press_keys("Enter")
    page.until(f"{focused}?.part.contains('range-start')")
    page.press_keys("ArrowDown")
    page.until(f"{focused}?.ariaLabel === 'March 13'")
    page.press_keys("ArrowRight")
    page.until(f"{focused}?.ariaLabel === 'March 14'")
    page.press_keys("Enter")

    page.until("location.search.includes('period=2026-03-06..2026-03-14')")


@pytest.mark.parametrize(("typed", "day"), [("2026-03-09", "09"), ("3/7/26", "07")])
def test_days_may_be_typed(page: Dashboard, typed: str, day: str) -> None:
    page.open("overview", period="2026-03-05..2026-03-06")
    open_menu(page)
    page.type_into(".typed-dates label:nth-child(2) input", "3/66/2026")
    last = "document.querySelectorAll('.typed-dates input')[1]"
    page.until(f"{last}.validationMessage === 'Give a day, such as 12/31/2026'")

    page.type_into(".typed-dates label:nth-child(2) input", typed)
    page.press("Show", ".period-menu")

    page.until(f"location.search.includes('period=2026-03-05..2026-03-{day}')")


@pytest.mark.parametrize(
    ("view", "compares"),
    [("overview", True), ("events", True), ("shares", False), ("explore", True), ("links", False)],
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
    place = f"document.querySelector('.u-over') && ({POINT})({at})"
    found: list[Any] = page.until_pointed(place, HOVER)
    x, y = page.tab.js(place)
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
