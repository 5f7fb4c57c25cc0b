"""Errors: groups as the API gives them, and one group with its stack and where it happens."""

from tests.web.dashboard import RANGE, Dashboard, shown

MESSAGE = "Failed to fetch"
IS_MESSAGE = [{"field": "message", "operator": "eq", "value": MESSAGE}]
FACTS = """Object.fromEntries([...document.querySelectorAll('.facts div')].map((fact) =>
  [fact.querySelector('dt').innerText, fact.querySelector('dd').innerText]))"""


def test_totals_and_groups_are_those_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("errors", by="hourly", compare="none")
    facts = dashboard.until(FACTS)
    [summary] = dashboard.ask("error_summary")
    assert facts["Errors"] == str(summary["totalErrors"])
    assert facts["Affected visitors"] == str(summary["affectedUsers"])

    groups = dashboard.ask("error_fingerprints")
    rows = dashboard.rows("Grouped errors")
    assert [[row[0].split("\n")[0], *row[1:3]] for row in rows] == shown(
        groups, "name", "count", "users"
    )


def test_groups_show_their_change(dashboard: Dashboard) -> None:
    dashboard.open("errors")
    assert {row[2] for row in dashboard.rows("Grouped errors")} == {"–"}
    dashboard.open("errors", compare=RANGE)
    assert {row[2] for row in dashboard.rows("Grouped errors")} == {"±0%"}


def test_a_group_opens_with_stack_pages_and_latest(dashboard: Dashboard) -> None:
    dashboard.open("errors")
    dashboard.press(MESSAGE, "main")
    dashboard.until("document.querySelector('pre')")
    dashboard.settle()
    [group] = dashboard.ask("error_fingerprints", filters=IS_MESSAGE)
    assert dashboard.text("main pre") == group["stack"]
    facts = dashboard.until(FACTS)
    assert facts["Errors"] == str(group["count"])
    assert facts["Place"] == f"{group['filename']}:{group['line']}"
    assert dashboard.rows("Page") == [["/pricing", str(group["count"])]]
    assert len(dashboard.rows("Latest errors")) == group["count"]

    dashboard.press("All errors", "main")
    dashboard.until("location.pathname.endsWith('/errors')")
