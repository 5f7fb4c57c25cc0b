"""Charts over time: what the pointer, the keyboard and a drag do, the running bucket, notes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.flow.tenant import DAY
from tests.web.dashboard import RANGE, Dashboard

PERIOD = f"{DAY - timedelta(days=2)}..{DAY + timedelta(days=1)}"
WIDTH, HEIGHT = 1200, 1000
POINT = """(at) => {
  const over = document.querySelector('.u-over');
  if (!over) return null;
  over.scrollIntoView({ block: 'center' });
  const { x, y, width, height } = over.getBoundingClientRect();
  return [x + at * (width - 1), y + height / 2];
}"""
HOVER = "document.querySelector('.plot .hover')?.innerText"
SPOKEN = "document.querySelector('.plot [aria-live]').innerText"
TODAY = datetime.now(UTC).date()
TO_RUNNING = "3,3"
"""The dashes of the line to the running bucket."""
DASHES = """const { setLineDash } = CanvasRenderingContext2D.prototype;
window.dashes = [];
CanvasRenderingContext2D.prototype.setLineDash = function (dash) {
  window.dashes.push(String(dash)); setLineDash.call(this, dash); };"""


def opened(page: Dashboard, **query: str) -> None:
    page.tab.set_size(WIDTH, HEIGHT)
    page.open("overview", **{"period": PERIOD, "by": "daily", "chart": "line", **query})


def point_at(page: Dashboard, at: float) -> tuple[float, float]:
    """Move the pointer to a share of the width of the chart."""
    x, y = page.until(f"({POINT})({at})")
    page.tab.tell("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    return x, y


def read_at(page: Dashboard, at: float, condition: str = HOVER) -> Any:
    """The value of a condition, as soon as it is true with the pointer at a share of the width."""
    return page.until_pointed(f"({POINT})({at})", condition)


def press_key(page: Dashboard, key: str) -> None:
    page.tab.tell("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)


def day_text(day: Any) -> str:
    return f"{day:%a, %b} {day.day}, {day.year}"


def test_the_pointer_reads_the_value_the_comparison_and_the_change(page: Dashboard) -> None:
    opened(page, compare=PERIOD)
    lines = read_at(page, 2 / 3, f"{HOVER}?.split('\\n').filter((line) => line.trim())")

    assert lines[0] == day_text(DAY)
    assert lines[1:4] == ["Unique visitors", "1", "±0%"]
    assert lines[4:6] == [day_text(DAY), "1"]


def test_dragging_over_days_makes_them_the_time_range(page: Dashboard) -> None:
    opened(page)
    read_at(page, 0.3)
    x, y = point_at(page, 0.3)
    mouse = {"button": "left", "buttons": 1, "clickCount": 1}
    page.tab.tell("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
    for at in (0.5, 0.7):
        end, _ = page.until(f"({POINT})({at})")
        page.tab.tell("Input.dispatchMouseEvent", type="mouseMoved", x=end, y=y, **mouse)
    assert "Release to see these days alone" in page.until(HOVER)
    page.tab.tell("Input.dispatchMouseEvent", type="mouseReleased", x=end, y=y, **mouse)
    page.until(f"location.search.includes('period={DAY - timedelta(days=1)}..{DAY}')")

    page.tab.back()
    page.until(f"location.search.includes('period={PERIOD}')")


def test_arrow_keys_read_a_chart_and_enter_opens_a_day(page: Dashboard) -> None:
    opened(page)
    page.until("(each => each && (each.focus(), true))(document.querySelector('.plot'))")
    press_key(page, "End")
    page.until(f"{SPOKEN}.startsWith('{day_text(DAY + timedelta(days=1))}')")
    press_key(page, "ArrowLeft")
    assert page.until(f"{SPOKEN}.includes('{day_text(DAY)}') && {SPOKEN}") == (
        f"{day_text(DAY)}. Unique visitors: 1"
    )
    assert f"period={PERIOD}" in page.tab.address  # elsewhere arrows change the time range

    press_key(page, "Enter")
    page.until(f"location.search.includes('period={RANGE}')")


def test_the_line_to_the_running_day_is_dashed_and_it_says_so(page: Dashboard) -> None:
    page.tab.before_each(DASHES)
    opened(page, period="last_7d", compare="none")
    running = read_at(page, 1.0, f"{HOVER}?.includes('so far') && {HOVER}")
    assert running.startswith(day_text(TODAY))
    assert TO_RUNNING in page.tab.js("window.dashes")
    read_at(page, 0.5, f"!{HOVER}?.includes('so far')")

    opened(page, compare="none")
    page.until("document.querySelector('.plot canvas') && window.dashes.length")
    assert TO_RUNNING not in page.tab.js("window.dashes")


def test_lines_and_bars_are_chosen_in_the_address(page: Dashboard) -> None:
    opened(page)
    page.press("Bars", ".series")
    page.until("location.search.includes('chart=bar')")
    pressed = "document.querySelector('.series-shapes [aria-label=Bars]').ariaPressed"
    page.until(f"{pressed} === 'true'")
    read_at(page, 0.99)
    page.press("Lines", ".series")
    page.until(f"location.search.includes('chart=line') && {pressed} === 'false'")


def test_a_note_is_added_changed_and_deleted_at_the_chart(dashboard: Dashboard) -> None:
    opened(dashboard)
    read_at(
        dashboard,
        2 / 3,
        "(each => each && !each.hidden && (each.click(), true))"
        "(document.querySelector('.add-note'))",
    )
    dashboard.until(
        f"document.querySelector('dialog input[name=start]')?.value === '{DAY:%m/%d/%Y}'"
    )
    dashboard.type_into("dialog input[name=text]", "Prices went up")
    dashboard.press("Save", "dialog")
    note = "document.querySelector('.series .note-mark')?.innerText"
    dashboard.until(f"{note}?.includes('Prices went up')")
    dashboard.settle()
    read_at(dashboard, 2 / 3, f"{HOVER}?.includes('Prices went up')")

    dashboard.until("document.querySelector('.note-mark').click() ?? true")
    dashboard.type_into("dialog input[name=text]", "Prices went down")
    dashboard.press("Save", "dialog")
    dashboard.until(f"{note}?.includes('Prices went down')")

    dashboard.until("document.querySelector('.note-mark').click() ?? true")
    dashboard.press("Delete", "dialog")
    dashboard.until("!document.querySelector('.note-mark')")


def test_a_note_can_be_added_with_the_keyboard_alone(dashboard: Dashboard) -> None:
    opened(dashboard)
    dashboard.press("Add a note", ".series footer")
    last = DAY + timedelta(days=1)
    dashboard.until(
        f"document.querySelector('dialog input[name=start]')?.value === '{last:%m/%d/%Y}'"
    )
    dashboard.press("Cancel", "dialog")
