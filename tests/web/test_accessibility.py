"""Every view in both themes: axe-core finds nothing serious, and nothing is wider than a phone."""

import json
from pathlib import Path

import pytest

from tests.web.dashboard import Dashboard

AXE = Path(__file__).parent.parent / "npm/node_modules/axe-core/axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
SERIOUS = ("serious", "critical")
PHONE = 360
OPENED = (
    "list/top_pages",
    "sessions/session-3",
    "visitors/visitor-3",
    "events/purchase",
    "errors/Failed%20to%20fetch",
)
"""Views that are reached from others."""


def views(dashboard: Dashboard) -> list[str]:
    """The views that the page lists."""
    found: list[str] = dashboard.until(
        "[...document.querySelectorAll('nav.side a')].map((link) => link.pathname.split('/')[2])"
    )
    return found


def violations(dashboard: Dashboard) -> list[str]:
    """Rules of axe-core that the page breaks, with the first element of each."""
    dashboard.tab.js(AXE.read_text())
    options = json.dumps({"runOnly": {"type": "tag", "values": RULES}})
    broken = dashboard.tab.js(f"axe.run(document, {options}).then((result) => result.violations)")
    return [
        f"{rule['id']}: {rule['nodes'][0]['html'][:160]} {rule['nodes'][0]['failureSummary']}"
        for rule in broken
        if rule["impact"] in SERIOUS
    ]


def set_theme(dashboard: Dashboard, theme: str) -> None:
    """Prefer the light or the dark theme, as the operating system would."""
    emulated = [{"name": "prefers-color-scheme", "value": theme}]
    dashboard.tab.tell("Emulation.setEmulatedMedia", features=emulated)


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_no_view_breaks_a_rule_of_wcag(dashboard: Dashboard, theme: str) -> None:
    set_theme(dashboard, theme)
    dashboard.open("overview")
    broken = {}
    for view in [*views(dashboard), *OPENED]:
        dashboard.open(view)
        if found := violations(dashboard):
            broken[view] = found
    assert broken == {}


def test_every_view_fits_on_a_phone(dashboard: Dashboard) -> None:
    dashboard.open("overview")
    names = views(dashboard)
    dashboard.tab.set_size(PHONE, 740)
    wide = {}
    for view in [*names, *OPENED]:
        dashboard.open(view)
        width = dashboard.tab.js("document.documentElement.scrollWidth")
        if width > PHONE:
            wide[view] = width
    assert wide == {}


def test_the_entry_of_the_view_is_in_sight_on_a_phone(dashboard: Dashboard) -> None:
    dashboard.tab.set_size(PHONE, 740)
    dashboard.open("errors")

    left, right = dashboard.tab.js(
        "(({ left, right }) => [left, right])(document.querySelector("
        "'nav.side a[aria-current]').getBoundingClientRect())"
    )
    assert left >= 0
    assert right <= PHONE


@pytest.mark.parametrize("chosen", ["light", "dark"])
def test_the_track_of_the_scroll_bar_has_the_color_of_the_page(
    page: Dashboard, chosen: str
) -> None:
    set_theme(page, "dark" if chosen == "light" else "light")  # the system has the other one
    page.open("setup", part="imports")
    style = page.tab.js(
        f"(document.documentElement.dataset.theme = '{chosen}', (({{ colorScheme, overflowY,"
        " scrollbarColor }) => ({ colorScheme, overflowY, scrollbarColor }))"
        "(getComputedStyle(document.documentElement)))"
    )
    back = page.tab.js("getComputedStyle(document.body).backgroundColor")
    assert (style["colorScheme"], style["overflowY"]) == (chosen, "scroll")
    assert style["scrollbarColor"].endswith(back)
