"""Errors: groups as the API gives them, and one group with its stack and where it happens."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY, Tenant
from tests.query.lake import an_error
from tests.web.dashboard import RANGE, Dashboard, percent, shown, signed_in
from tests.web.query_alone import query_alone

MESSAGE = "Failed to fetch"


def is_message(message: str) -> list[dict[str, str]]:
    """The filter of a message."""
    return [{"field": "message", "operator": "eq", "value": message}]


FACTS = """Object.fromEntries([...document.querySelectorAll('.facts div')].map((fact) =>
  [fact.querySelector('dt').innerText, fact.querySelector('dd').innerText]))"""


def test_totals_and_groups_are_those_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("errors", by="hourly", compare="none")
    facts = dashboard.until(FACTS)
    [summary] = dashboard.ask("error_summary")
    assert facts["Errors"] == str(summary["totalErrors"])
    assert facts["Affected visitors"] == str(summary["affectedUsers"])

    groups = dashboard.ask("error_changes")
    rows = dashboard.rows("Grouped errors")
    [whole] = dashboard.ask("summary_metrics")
    shares = [f"{100 * group['users'] / whole['unique_visitors']:.1f}" for group in groups]
    assert [[row[0].split("\n")[0], row[2], row[3].split()[0]] for row in rows] == shown(
        groups, "name", "count", "users"
    )
    assert [row[3].split()[1] for row in rows] == [percent(float(s)) for s in shares]


def test_what_is_new_is_said_first_and_has_a_tab(dashboard: Dashboard) -> None:
    dashboard.open("errors", compare=RANGE)
    groups = dashboard.ask("error_changes")
    assert {group["state"] for group in groups} == {"new"}
    rows = dashboard.rows("Grouped errors")
    assert [row[1].split("\n")[0] for row in rows] == ["New"] * len(groups)
    advice = dashboard.text(".advice")
    assert advice.startswith(f"{len(groups)} new errors since ")
    assert f"Start with {groups[0]['name']} ({groups[0]['users']} visitors)." in advice

    dashboard.press(f"New {len(groups)}", "main")
    dashboard.until("new URLSearchParams(location.search).get('state') === 'new'")
    dashboard.settle()
    assert [row[0].split("\n")[0] for row in dashboard.rows("Grouped errors")] == [
        group["name"] for group in groups
    ]


def test_without_a_time_before_nothing_is_called_new(dashboard: Dashboard) -> None:
    dashboard.open("errors")
    assert "There is no time before to compare with." in dashboard.text(".advice")
    assert dashboard.tab.js("!document.querySelector('main .state')")


def test_a_group_opens_with_stack_pages_and_latest(dashboard: Dashboard) -> None:
    dashboard.open("errors")
    dashboard.press(MESSAGE, "main")
    dashboard.until("document.querySelector('pre')")
    dashboard.settle()
    [group] = dashboard.ask("error_fingerprints", filters=is_message(MESSAGE))
    assert dashboard.text("main pre") == group["stack"]
    facts = dashboard.until(FACTS)
    assert facts["Errors"] == str(group["count"])
    assert facts["Place"] == f"/app.js:{group['line']}"
    assert dashboard.rows("Page") == [["/pricing", str(group["count"])]]
    assert len(dashboard.rows("Latest errors")) == group["count"]

    dashboard.press("All errors", "main")
    dashboard.until("location.pathname.endsWith('/errors')")


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    """A tenant whose errors differ in a number."""
    times = (f"{DAY}T10:0{minute}:00Z" for minute in range(3))
    orders = [
        an_error(f"no order {n}", at=at, visitor=f"u{n}", release="2.4.1" if n < 3 else None)
        for n, at in enumerate(times, 1)
    ]
    other = an_error("no user", at=f"{DAY}T10:03:00Z")
    with query_alone(tmp_path_factory.mktemp("numbered"), [*orders, other]) as tenant:
        yield tenant


@pytest.fixture
def orders(chromium: Chromium, numbered: Tenant) -> Iterator[Dashboard]:
    """Its dashboard, signed in."""
    yield from signed_in(chromium, numbered)


def test_similar_messages_are_one_group_if_chosen(orders: Dashboard) -> None:
    def groups() -> list[tuple[str, str]]:
        rows = orders.rows("Grouped errors")
        return sorted((row[0].split("\n")[0], row[2]) for row in rows)

    orders.open("errors", compare="none")
    before = groups()
    orders.until("document.querySelector('main .check input')")
    orders.tab.js("document.querySelector('main .check input').click()")
    orders.until("new URLSearchParams(location.search).get('similar') === '1'")
    orders.settle()
    after = groups()
    orders.press("no order #", "main")
    orders.until("location.pathname.endsWith('/errors/no%20order%20%23')")
    orders.settle()
    facts = orders.until(FACTS)
    latest = len(orders.rows("Latest errors"))
    orders.press("All errors", "main")
    orders.settle()

    assert before == [(f"no order {n}", "1") for n in (1, 2, 3)] + [("no user", "1")]
    assert after == [("no order #", "3"), ("no user", "1")]
    assert (facts["Errors"], facts["Affected visitors"], latest) == ("3", "3", 3)
    assert groups() == after


def names(page: Dashboard) -> list[str]:
    """The groups that are listed, in order of their names."""
    return sorted(row[0].split("\n")[0] for row in page.rows("Grouped errors"))


def test_a_group_is_resolved_ignored_and_reopened(orders: Dashboard) -> None:
    orders.open("errors", compare="none")
    assert names(orders) == ["no order 1", "no order 2", "no order 3", "no user"]

    orders.press("Resolve: no order 2", "main")  # all messages of its pattern are resolved
    orders.until("document.querySelectorAll('main .errors tbody tr').length === 1")
    assert names(orders) == ["no user"]
    orders.open("errors", compare="none", status="resolved")
    assert names(orders) == ["no order 1", "no order 2", "no order 3"]
    [row] = orders.ask("error_changes", filters=is_message("no order 3"))
    assert row["status"] == "resolved"

    orders.press("no order 1", "main")
    orders.until("document.querySelector('main .facts')")
    orders.press("Reopen: no order 1", "main")
    orders.until("document.querySelector('main .row-actions').innerText.includes('Ignore')")
    orders.press("Ignore: no order 1", "main")
    orders.until("document.querySelector('main .row-actions').innerText.includes('Ignored')")
    orders.open("errors", compare="none", status="all")
    assert len(names(orders)) == 4
    orders.press("Reopen: no order 3", "main")
    orders.until("!document.querySelector('main .errors .state')")
    assert {row["status"] for row in orders.ask("error_changes")} == {"open"}


def test_errors_of_one_release_are_shown_alone(orders: Dashboard) -> None:
    orders.open("errors", compare="none")
    assert orders.rows("By release") == [["2.4.1", "2"], ["–", "2"]]

    orders.press("2.4.1", "main")
    orders.until("new URLSearchParams(location.search).get('release') === '2.4.1'")
    orders.settle()
    assert names(orders) == ["no order 1", "no order 2"]
    assert orders.until(FACTS)["Errors"] == "2"
