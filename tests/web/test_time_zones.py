"""Time zones of the page: current names that the API takes, also where the browser has old ones."""

import json
from importlib.resources import files

from schemas.runtime.time_zone_names import time_zones
from tests.web.dashboard import Dashboard

OLD_NAMES = {"Asia/Calcutta": "Asia/Kolkata", "Europe/Kiev": "Europe/Kyiv"}
OPTIONS = """(() => {
  const select = [...document.querySelectorAll(":popover-open select, dialog select")]
    .find((each) => [...each.options].some((option) => option.value === "UTC"));
  return select && { value: select.value, all: [...select.options].map((each) => each.value) };
})()"""


def use_zone(page: Dashboard, zone: str) -> None:
    """Put the browser into a time zone, as its operating system does."""
    page.tab.tell("Emulation.setTimezoneOverride", timezoneId=zone)


def current_zones() -> set[str]:
    """The names of the IANA database that are not kept for old programs only."""
    lines = (files("tzdata") / "zoneinfo" / "zone.tab").read_text().splitlines()
    return {line.split("\t")[2] for line in lines if not line.startswith("#")} | {"UTC"}


def test_every_zone_that_is_offered_is_current_and_taken_by_the_api(page: Dashboard) -> None:
    use_zone(page, "Asia/Calcutta")
    page.open("overview")
    page.press("Options")
    offered = page.until(OPTIONS)["all"]

    assert set(offered) <= current_zones() & time_zones()
    assert set(OLD_NAMES.values()) <= set(offered)
    assert len(offered) == len(set(offered))
    assert offered[1] == "Asia/Kolkata"  # of this browser, after that of the website


def test_an_old_name_in_an_address_is_the_current_zone(page: Dashboard) -> None:
    for old, current in {**OLD_NAMES, "europe/berlin": "Europe/Berlin"}.items():
        page.open("overview", tz=old)
        page.press(f"Options ({current})")
        assert page.until(OPTIONS)["value"] == current
    page.open("overview", tz="+02:00")
    assert "tz" in page.text("main .unread")


def test_a_website_gets_the_current_name_of_the_browsers_zone(page: Dashboard) -> None:
    use_zone(page, "Europe/Kiev")
    page.open("setup", part="websites")
    page.press("Add a website")
    offered = page.until(OPTIONS)
    assert offered["value"] == "Europe/Kyiv", json.dumps(offered)
    assert set(offered["all"]) <= time_zones()
