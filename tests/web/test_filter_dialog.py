"""The dialog of a filter: values as people know and type them become those that are stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.query.lake import a_view
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone
from tests.web.test_filters import CHOOSE, TOTAL, choose_field

GERMAN: dict[str, Any] = {
    "country": "DE",
    "language": "de-DE",
    "device_type": "mobile",
    "channel": "Email",
    "referrer_name": "Google",
    "referrer": "https://www.google.com/",
}
UNSEEN = "No visitor had this in the selected time range."
NOTE = "dialog [role=status]"
OPTIONS = "[...document.querySelectorAll('dialog datalist option')].map((o) => [o.value, o.label])"


@pytest.fixture(scope="module")
def germans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant with two visitors from Germany and one from nowhere, on other pages."""
    at = f"{DAY}T10:00:00Z"
    views = [
        a_view("/pricing", at=at, visitor="u1", session="s1", **GERMAN),
        a_view("/pricing", at=at, visitor="u2", session="s2", **GERMAN),
        a_view("/", at=at, visitor="u3", session="s3", channel="Direct", device_type="desktop"),
    ]
    with query_alone(tmp_path_factory.mktemp("germans"), views) as tenant:
        yield tenant


@pytest.fixture
def values(chromium: Chromium, germans: Tenant) -> Iterator[Dashboard]:
    """Its dashboard, signed in, with the overview open."""
    for dashboard in signed_in(chromium, germans):
        dashboard.open("overview")
        dashboard.until(f"{TOTAL} === '3'")
        yield dashboard


@pytest.mark.parametrize(
    ("field", "typed", "stored", "chip"),
    [
        ("country", "germany", "DE", "Country is Germany"),
        ("country", "de", "DE", "Country is Germany"),
        ("language", "German (Germany)", "de-DE", "Language is German (Germany)"),
        ("visit.channel", "email", "Email", "Channel is Email"),
        ("visit.referrer_name", "google", "Google", "Referrer is Google"),
        ("device_type", "Mobile", "mobile", "Device is Phone"),
        ("path", "pricing", "/pricing", "Page is /pricing"),
        ("path", "https://shop.example/pricing/?a=1#top", "/pricing", "Page is /pricing"),
        ("did.path", "Pricing", "/pricing", "Visitor saw page /pricing"),
    ],
)
def test_a_typed_value_becomes_the_stored_one(
    values: Dashboard, field: str, typed: str, stored: str, chip: str
) -> None:
    choose_field(values, field)
    values.until(f"({OPTIONS}).some(([value]) => value === '{stored}')")
    values.type_into("dialog input", typed)
    values.press("Apply", "dialog")

    values.until(f"{TOTAL} === '2'")
    assert values.text(".chip-text") == chip


def test_values_are_suggested_under_the_name_that_is_shown(values: Dashboard) -> None:
    choose_field(values, "country")
    assert values.until(f"({OPTIONS})[0] && {OPTIONS}") == [["DE", "Germany"]]

    values.type_into("dialog input", "DE")
    values.until(f"document.querySelector('{NOTE}')?.innerText.includes('Germany')")


@pytest.mark.parametrize(
    ("field", "typed"), [("country", "France"), ("path", "/pric"), ("visit.channel", "Social")]
)
def test_a_value_that_nobody_had_is_named_and_permitted(
    values: Dashboard, field: str, typed: str
) -> None:
    choose_field(values, field)
    values.type_into("dialog input", typed)
    values.tab.js("document.querySelector('dialog input').blur()")
    values.until(f"document.querySelector('{NOTE}')?.innerText === '{UNSEEN}'")

    values.press("Apply", "dialog")
    values.until(f"{TOTAL} === '0'")


@pytest.mark.parametrize(("operator", "typed"), [("eq", "/pric"), ("contains", "PRIC")])
def test_nothing_is_said_about_the_beginning_of_a_value(
    values: Dashboard, operator: str, typed: str
) -> None:
    choose_field(values, "path")
    values.tab.js(f"({CHOOSE})(document.querySelectorAll('dialog select')[1], '{operator}')")
    values.until(f"({OPTIONS}).some(([value]) => value === '/pricing')")
    values.type_into("dialog input", typed)
    values.tab.js("new Promise((waited) => setTimeout(waited, 2000))")
    assert values.tab.js(f"document.querySelector('{NOTE}').innerText") != UNSEEN

    values.type_into("dialog input", f"{typed}/nobody")
    values.until(f"document.querySelector('{NOTE}')?.innerText === '{UNSEEN}'")


def test_a_part_of_a_path_stays_as_it_was_typed(values: Dashboard) -> None:
    choose_field(values, "path")
    values.tab.js(f"({CHOOSE})(document.querySelectorAll('dialog select')[1], 'contains')")
    values.type_into("dialog input", "pric")
    values.press("Apply", "dialog")

    values.until(f"{TOTAL} === '2'")
    assert values.text(".chip-text") == "Page contains pric"
