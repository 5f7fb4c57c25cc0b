"""The world map: numbers and shares of the API; buttons, wheel, drag and keys zoom and move it."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.query.lake import a_view
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone

COUNTRIES = ("DE", "DE", "DE", "US", "SG")
VIEW = """(([, x, y, scale]) => ({x: Number(x), y: Number(y), scale: Number(scale)}))(
  document.querySelector('.map svg > g').getAttribute('transform')
    .match(/translate\\((\\S+) (\\S+)\\) scale\\((\\S+)\\)/))"""
LABELS = """[...document.querySelectorAll('.map [role=button]')].map(
  (each) => each.getAttribute('aria-label'))"""
MIDDLE = """(({x, y, width, height}) => [x + width / 2, y + height / 2])(
  document.querySelector('.map svg').getBoundingClientRect())"""


@pytest.fixture(scope="module")
def travelers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant with visitors from three countries, one of them too small for an outline."""
    rows = [
        a_view("/", at=f"{DAY}T10:0{at}:00Z", visitor=f"u{at}", session=f"s{at}", country=country)
        for at, country in enumerate(COUNTRIES)
    ]
    with query_alone(tmp_path_factory.mktemp("travelers"), rows) as tenant:
        yield tenant


@pytest.fixture
def world(chromium: Chromium, travelers: Tenant) -> Iterator[Dashboard]:
    for dashboard in signed_in(chromium, travelers):
        dashboard.open("overview", places="map")
        dashboard.until("document.querySelector('.map svg > g')")
        dashboard.tab.js("document.querySelector('.map').scrollIntoView({block: 'center'})")
        yield dashboard


def test_countries_have_the_numbers_and_shares_of_the_api(world: Dashboard) -> None:
    rows = world.ask("country")
    names = {"DE": "Germany", "US": "United States", "SG": "Singapore"}
    labels = [f"{names[r['name']]}: {r['visitors']} ({r['percentage']:.2f}%)" for r in rows]
    assert sorted(world.tab.js(LABELS)) == sorted(labels)

    world.tab.js("document.querySelector('.map [aria-label^=Germany]').focus()")
    shown = world.text(".map-hover")
    assert "Germany" in shown
    assert "3 visitors · 60.00%" in shown
    assert "flag-DE" in world.tab.js("document.querySelector('.map-hover img').src")


def test_the_map_is_zoomed_moved_and_reset(world: Dashboard) -> None:
    assert world.tab.js(VIEW) == {"x": 0, "y": 0, "scale": 1}
    world.press("Zoom in", ".map")
    world.until(f"({VIEW}).scale > 1.5")
    before = world.tab.js(VIEW)

    x, y = world.tab.js(MIDDLE)
    mouse = {"button": "left", "buttons": 1, "clickCount": 1}
    world.tab.tell("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
    world.tab.tell("Input.dispatchMouseEvent", type="mouseMoved", x=x + 40, y=y, **mouse)
    world.tab.tell("Input.dispatchMouseEvent", type="mouseReleased", x=x + 40, y=y, **mouse)
    world.until(f"({VIEW}).x > {before['x']}")
    assert "f=" not in world.tab.address  # a drag is no click

    scale = world.tab.js(VIEW)["scale"]
    wheel = {"type": "mouseWheel", "deltaX": 0}
    world.tab.tell("Input.dispatchMouseEvent", x=x, y=y, deltaY=-200, **wheel)
    world.until(f"({VIEW}).scale > {scale}")
    world.press("Show the whole map", ".map")
    world.until(f"({VIEW}).scale === 1")


def test_keys_zoom_and_move_the_map(world: Dashboard) -> None:
    def press(key: str) -> None:
        world.tab.tell("Input.dispatchKeyEvent", type="keyDown", key=key)
        world.tab.tell("Input.dispatchKeyEvent", type="keyUp", key=key)

    world.tab.js("document.querySelector('.map [aria-label^=Germany]').focus()")
    press("+")
    world.until(f"({VIEW}).scale > 1.5")
    before = world.tab.js(VIEW)
    press("ArrowRight")
    world.until(f"({VIEW}).x < {before['x']}")
    press("Home")
    world.until(f"({VIEW}).scale === 1")


def test_a_country_without_an_outline_filters_too(world: Dashboard) -> None:
    world.tab.js(
        "document.querySelector('.map circle').dispatchEvent("
        "new MouseEvent('click', {bubbles: true}))"
    )
    world.until("location.search.includes('country:eq:SG')")
