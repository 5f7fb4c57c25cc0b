"""Facts of the visit hold for every row of a session, in every table that has sessions."""

from pathlib import Path
from typing import Any

import pytest

from query.scope.visits import FACTS
from schemas.tables import EVENTS
from tests.query.lake import a_view, an_error, an_event
from tests.query.query_service import InProcessService, start_service

DAY_2 = {"startDate": "2026-11-11", "endDate": "2026-11-11"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """A visit over midnight from a newsletter, a direct one, and a purchase without a session."""
    service = start_service(tmp_path_factory.mktemp("visits"))
    service.holds(
        a_view("/news", session="s1", at="2026-11-10T23:59:00Z", channel="Email", country="NP"),
        a_view("/cart", session="s1", at="2026-11-11T00:01:00Z", channel="Direct"),
        an_event("purchase", session="s1", at="2026-11-11T00:02:00Z"),
        an_error("late", session="s1", at="2026-11-11T00:03:00Z"),
        a_view("/", session="s2", visitor="u2", at="2026-11-11T10:00:00Z", channel="Direct"),
        an_event("purchase", session="s2", visitor="u2", at="2026-11-11T10:01:00Z"),
        an_error("other", session="s2", visitor="u2", at="2026-11-11T10:02:00Z"),
        an_event("purchase", session=None, visitor="u3", at="2026-11-11T11:00:00Z", channel="Paid"),
        a_view("/bye", session="s1", at="2026-11-12T00:10:00Z", channel="Direct"),
    )
    return service


def events(
    service: InProcessService, field: str, value: Any, operator: str = "eq", **more: Any
) -> int:
    condition = {"field": field, "operator": operator, "value": value}
    [row] = service.rows("summary", filters=[condition], **DAY_2, **more)
    total: int = row["total_events"]
    return total


@pytest.mark.parametrize(
    ("field", "value", "count"),
    [
        ("visit.channel", "Email", 2),
        ("visit.channel", "Direct", 2),
        ("visit.channel", "Paid", 1),
        ("visit.entry_page", "/news", 2),
        ("visit.exit_page", "/bye", 2),
        ("visit.exit_page", "/cart", 0),
        ("visit.country", "NP", 2),
    ],
)
def test_a_filter_on_a_fact_keeps_every_row_of_the_visit(
    service: InProcessService, field: str, value: str, count: int
) -> None:
    """Also where its first page view lies before the time range and its last one after it."""
    assert events(service, field, value) == count
    assert events(service, field, value, person="profile") == count


def test_a_filter_and_its_negation_share_all_rows(service: InProcessService) -> None:
    assert events(service, "visit.country", "NP", "ne") == 3
    assert events(service, "visit.channel", ["Email", "Paid"], "not_in") == 2


def test_facts_hold_for_rows_of_other_tables(service: InProcessService) -> None:
    condition = {"field": "visit.channel", "operator": "eq", "value": "Email"}

    rows = service.rows("recent_errors", filters=[condition], **DAY_2)

    assert [row["message"] for row in rows] == ["late"]


def test_a_fact_may_stand_in_a_group_beside_columns_of_the_row(service: InProcessService) -> None:
    either = {
        "or": [
            {"field": "visit.channel", "operator": "eq", "value": "Email"},
            {"field": "anonymous_id", "operator": "eq", "value": "u3"},
        ]
    }

    [row] = service.rows("summary", filters=[either], **DAY_2)

    assert row["total_events"] == 3


def test_each_fact_is_a_column_of_events() -> None:
    columns = {column.name for column in EVENTS.columns if column.public}

    assert {fact.column for fact in FACTS} <= columns
    assert len({fact.name for fact in FACTS}) == len(FACTS)


def test_an_unknown_fact_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    condition = {"field": "visit.chanel", "operator": "eq", "value": "Email"}

    entry = service.query("summary", filters=[condition]).json["data"][0]

    assert not entry["success"]
    assert "visit.channel" in entry["error"]
