"""The panel of filters: conditions made together, and values as people know and type them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.http_client import call
from tests.query.lake import a_view
from tests.web.dashboard import Dashboard, signed_in
from tests.web.query_alone import query_alone
from tests.web.test_filters import (
    TOTAL,
    VALUE,
    apply,
    change_field,
    choose_field,
    choose_operator,
)

GERMAN: dict[str, Any] = {
    "country": "DE",
    "language": "de-DE",
    "device_type": "mobile",
    "channel": "Email",
    "referrer_name": "Google",
    "referrer": "https://www.google.com/",
}
UNSEEN = "No visitor had this in the selected time range."
NOTE = ".suggestions [role=status]"
OPTIONS = """[...document.querySelectorAll(".suggestions [data-value]")].map((each) => [
  each.dataset.value, each.querySelector(".suggestion").innerText,
  each.querySelector(".count")?.innerText])"""


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
        ("device_type", "Mobile", "mobile", "Device is Mobile"),
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
    values.type_into(VALUE, typed)
    apply(values)

    values.until(f"{TOTAL} === '2'")
    assert values.text(".chip-text") == chip


def test_values_are_suggested_under_the_name_that_is_shown(values: Dashboard) -> None:
    choose_field(values, "country")
    assert values.until(f"({OPTIONS})[0] && {OPTIONS}") == [["DE", "Germany", "2"]]

    values.type_into(VALUE, "germ")
    values.until(f"({OPTIONS}).length === 1")


@pytest.mark.parametrize(
    ("field", "typed"), [("country", "France"), ("path", "/nobody"), ("visit.channel", "Social")]
)
def test_a_value_that_nobody_had_is_named_and_permitted(
    values: Dashboard, field: str, typed: str
) -> None:
    choose_field(values, field)
    values.type_into(VALUE, typed)
    values.until(f"document.querySelector('{NOTE}')?.innerText === '{UNSEEN}'")

    apply(values)
    values.until(f"{TOTAL} === '0'")


@pytest.mark.parametrize(("operator", "typed"), [("eq", "/pric"), ("contains", "PRIC")])
def test_nothing_is_said_about_the_beginning_of_a_value(
    values: Dashboard, operator: str, typed: str
) -> None:
    choose_field(values, "path")
    choose_operator(values, operator)
    values.type_into(VALUE, typed)
    values.until(f"({OPTIONS}).some(([value]) => value === '/pricing')")
    assert values.tab.js(f"document.querySelector('{NOTE}').innerText") != UNSEEN

    values.type_into(VALUE, f"{typed}/nobody")
    values.until(f"document.querySelector('{NOTE}')?.innerText === '{UNSEEN}'")


def test_a_part_of_a_path_stays_as_it_was_typed(values: Dashboard) -> None:
    choose_field(values, "path")
    choose_operator(values, "contains")
    values.type_into(VALUE, "pric")
    apply(values)

    values.until(f"{TOTAL} === '2'")
    assert values.text(".chip-text") == "Page contains pric"


def test_several_conditions_are_made_by_keyboard_and_applied_together(values: Dashboard) -> None:
    values.tab.js("document.getElementById('add-filter').focus()")
    values.press_keys("Enter")
    values.until("document.activeElement?.matches('.filter-panel [role=combobox]')")
    values.until(f"({OPTIONS}).length === 2")
    values.press_keys("ArrowDown", "Enter", "ArrowDown", "ArrowDown", "Enter")
    values.until("document.querySelectorAll('.values .chip').length === 2")
    values.tab.js("document.querySelector('.add-condition').focus()")
    values.press_keys("Enter")
    values.until("document.querySelectorAll('.filter-row').length === 2")
    change_field(values, "country")
    values.type_into(VALUE, "germany")
    values.until(f'JSON.stringify({OPTIONS}) === \'[["DE","Germany","2"]]\'')
    assert "f=" not in values.tab.address
    values.press_keys("Enter")
    values.until("document.querySelectorAll('.values .chip').length === 3")
    values.press_keys("Enter")

    values.until(f"{TOTAL} === '2'")
    chips = values.tab.js("[...document.querySelectorAll('.chip-text')].map((e) => e.innerText)")
    assert chips == ["Page is /pricing or /", "Country is Germany"]
    assert values.tab.js("new URLSearchParams(location.search).getAll('f')") == [
        '{"field":"path","operator":"in","value":["/pricing","/"]}',
        "country:eq:DE",
    ]


def test_conditions_are_duplicated_and_removed_and_others_stay_as_they_were(
    values: Dashboard,
) -> None:
    values.open("overview", f="path:eq:/pricing")
    values.press("Page is /pricing")
    values.press("Duplicate: Condition 1", ".filter-panel")
    values.until("document.querySelectorAll('.filter-row').length === 2")
    choose_operator(values, "ne")
    apply(values)
    values.until(f"{TOTAL} === '0'")
    filters = "new URLSearchParams(location.search).getAll('f')"
    assert values.tab.js(filters) == ["path:eq:/pricing", "path:ne:/pricing"]

    values.press("Page is /pricing")
    values.press("Remove: Condition 2", ".filter-panel")
    values.until("document.querySelectorAll('.filter-row').length === 1")
    apply(values)
    values.until(f"{TOTAL} === '2'")
    assert values.tab.js(filters) == ["path:eq:/pricing"]


def test_alternatives_are_one_condition(values: Dashboard) -> None:
    values.open("overview", f="country:eq:DE")
    values.press("Country is Germany")
    values.press("or", ".filter-row")
    values.until("document.querySelectorAll('.filter-part').length === 2")
    change_field(values, "path")
    values.type_into(VALUE.replace("[role", ".filter-part:last-child [role"), "/")
    apply(values)

    values.until(f"{TOTAL} === '3'")
    assert values.text(".chip-text") == "Country is Germany or Page is /"


def test_escape_drops_the_conditions_and_returns_the_focus(values: Dashboard) -> None:
    choose_field(values, "country")
    values.type_into(VALUE, "x")

    values.press_keys("Escape", "Escape")

    values.until("!document.querySelector('.filter-panel')")
    values.until("document.activeElement?.id === 'add-filter'")
    assert "f=" not in values.tab.address


def test_the_counts_of_suggestions_are_those_of_the_api(dashboard: Dashboard) -> None:
    for field, grouped in (("path", "path"), ("country", "country"), ("did.event", "name")):
        dashboard.open("overview")
        choose_field(dashboard, field)
        rows = dashboard.metrics("visitors", dimensions=[grouped], limit=100)
        expected = {row[grouped]: f"{row['visitors']:,}" for row in rows if row[grouped]}
        dashboard.until(f"({OPTIONS}).length === {len(expected)}")
        shown = dashboard.tab.js(OPTIONS)
        assert {value: count for value, _, count in shown} == expected


def test_a_property_is_found_by_its_name_and_compared_by_its_type(dashboard: Dashboard) -> None:
    total = {"field": "properties.total", "operator": "gte", "value": 1}
    dashboard.open("overview")
    choose_field(dashboard, "properties.total")
    choose_operator(dashboard, "gte")
    dashboard.type_into(".filter-panel input[type=number]", "1")
    apply(dashboard)

    [row] = dashboard.metrics("visitors", filters=[total])
    dashboard.until(f"{TOTAL} === '{row['visitors']:,}'")
    assert dashboard.text(".chip-text") == "Property total is at least 1"


def test_visitors_who_reached_a_goal_are_a_condition(dashboard: Dashboard) -> None:
    owned = {"x-api-key": dashboard.tenant.key}
    query = f"website_id={dashboard.tenant.website.id}"
    goal = {"name": "Bought", "event": "purchase"}
    reply = call("POST", f"{dashboard.url}/v1/goals?{query}", goal, owned)
    assert reply.status == 201, reply.body
    dashboard.open("overview")
    choose_field(dashboard, "did.goal")
    dashboard.until(f"({OPTIONS}).some(([value]) => value === 'Bought')")
    dashboard.type_into(VALUE, "bought")
    apply(dashboard)

    [row] = dashboard.metrics("visitors", filters=[{"has_done": {"event": "purchase"}}])
    dashboard.until(f"{TOTAL} === '{row['visitors']:,}'")
    assert dashboard.text(".chip-text") == "Visitor reached goal Bought"
    call("DELETE", f"{dashboard.url}/v1/goals/{reply.json['data']['id']}", None, owned)


def test_segments_are_saved_and_applied_in_the_panel(values: Dashboard) -> None:
    values.open("overview", f="country:eq:DE")
    values.press("Country is Germany")
    values.press("Save as segment …", ".filter-panel")
    values.type_into(".save-segment input", "Germans")
    values.press("Save as segment", ".save-segment")
    values.until("document.querySelector('.chip-text')?.innerText === 'Segment is Germans'")
    values.until(f"{TOTAL} === '2'")

    values.press("Remove the filter: Segment is Germans")
    values.press("Filter", ".filters")
    values.press("Germans", ".segment-list")
    values.until("document.querySelectorAll('.filter-row').length === 2")
    apply(values)
    values.until(f"{TOTAL} === '2'")
    assert values.tab.js("new URLSearchParams(location.search).get('f')") == '{"segment":"Germans"}'
