"""Facts of the visitor in standard and custom queries, exports, goals and behavior."""

from pathlib import Path
from typing import Any

import pytest

from query.export import slices
from query.scope.visitor_facts import VISITOR_FACT_FIELDS
from tests.query.custom.custom_requests import ask, rows
from tests.query.export.export_requests import exported, lines
from tests.query.lake import a_view, an_error, an_event, an_identity
from tests.query.metrics_queries import error, save, where
from tests.query.metrics_queries import rows as metrics_rows
from tests.query.query_service import InProcessService, start_service
from tests.query.scope.kept_events import kept

FIRST, LAST, NEW = "visitor.first_seen", "visitor.last_seen", "visitor.is_new"
OLD_TIME, NEW_TIME = "2026-09-01T10:00:00.000Z", "2026-11-11T10:00:00.000Z"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """In November two visits of a visitor since September, and one of a new visitor."""
    service = start_service(tmp_path_factory.mktemp("facts"))
    service.holds(
        a_view("/", visitor="old", session="s1", at="2026-09-01T10:00:00Z"),
        a_view("/", visitor="old", session="s2", at="2026-11-10T10:00:00Z"),
        an_event("purchase", visitor="old", session="s2", at="2026-11-10T10:01:00Z"),
        an_event("purchase", visitor="new", session="s3", at="2026-11-11T10:00:00Z"),
        an_event("job", visitor=None, session=None, at="2026-11-11T11:00:00Z"),
        an_error("lost", visitor="old", session="s2", at="2026-11-10T10:02:00Z"),
        an_error("other", visitor="new", session="s3", at="2026-11-11T10:02:00Z"),
    )
    return service


@pytest.mark.parametrize(
    ("field", "operator", "value", "count"),
    [
        (NEW, "eq", True, 1),
        (NEW, "eq", False, 2),
        (NEW, "is_null", None, 1),
        (FIRST, "lt", "2026-11-01T00:00:00Z", 2),
        (FIRST, "eq", "2026-11-11T10:00:00Z", 1),
        (LAST, "gte", "2026-11-11T00:00:00Z", 1),
        (LAST, "is_not_null", None, 3),
    ],
)
def test_standard_queries_are_filtered_by_them(
    service: InProcessService, field: str, operator: str, value: Any, count: int
) -> None:
    condition = {
        "field": field,
        "operator": operator,
        **({} if value is None else {"value": value}),
    }

    assert kept(service, condition) == count
    assert kept(service, {"not": condition}) == 4 - count
    found = rows(service, filters=[condition])
    assert found == ([{"n": count}] if count else [])


def test_rows_of_other_tables_are_filtered_by_the_events_of_their_visitor(
    service: InProcessService,
) -> None:
    found = service.rows("recent_errors", filters=[where(NEW, True)])
    assert [row["message"] for row in found] == ["other"]

    found = rows(service, table="errors", groupBy=["message"], filters=[where(NEW, False)])
    assert found == [{"message": "lost", "n": 1}]


def test_a_list_of_visitors_keeps_them_on_each_page(service: InProcessService) -> None:
    for is_new, visitor in ((True, "new"), (False, "old")):
        found = service.rows("profile_list", filters=[where(NEW, is_new)], limit=1)
        assert [row["visitor_id"] for row in found] == [visitor]
    found = service.rows("session_list", filters=[where(NEW, False)], limit=1)
    assert [row["session_id"] for row in found] == ["s2"]


def test_custom_queries_group_and_select_them(service: InProcessService) -> None:
    assert rows(service, groupBy=[NEW], orderBy=[{"field": "n", "direction": "desc"}]) == [
        {NEW: False, "n": 2},
        {NEW: True, "n": 1},
        {NEW: None, "n": 1},
    ]
    selects = [
        {"field": FIRST, "aggregate": "min", "alias": "first"},
        {"field": FIRST, "aggregate": "uniq", "alias": "times"},
        {"field": LAST, "aggregate": "max", "alias": "last"},
        {"field": NEW, "aggregate": "avg", "alias": "share"},
    ]
    assert rows(service, *selects) == [
        {"first": OLD_TIME, "times": 2, "last": NEW_TIME, "share": 0.333333}
    ]
    assert [row[FIRST] for row in rows(service, groupBy=[FIRST])] == [OLD_TIME, NEW_TIME, None]


def test_exports_have_them_as_columns_that_are_asked_for(service: InProcessService) -> None:
    columns = f"name,{NEW},{FIRST}"
    found = lines(exported(service, columns=columns).body)
    assert [tuple(row.values()) for row in found] == [
        ("screen_view", False, OLD_TIME),
        ("purchase", False, OLD_TIME),
        ("purchase", True, NEW_TIME),
        ("job", None, None),
    ]
    assert FIRST not in lines(exported(service).body)[0]
    new = f'[{{"field": "{NEW}", "operator": "eq", "value": true}}]'
    assert [row["name"] for row in lines(exported(service, filters=new).body)] == ["purchase"]


def test_who_is_new_is_new_in_each_slice_of_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_ROWS", 1)
    service = start_service(tmp_path)
    days = ("2026-11-10", "2026-11-20")
    service.holds(*(a_view("/", at=f"{day}T10:00:00Z") for day in days))

    found = lines(exported(service, columns=f"ts,{NEW}").body)

    assert [(row["ts"][:10], row[NEW]) for row in found] == [(day, True) for day in days]


def test_steps_breakdowns_and_saved_goals_name_them(service: InProcessService) -> None:
    bought: Any = {"event": "purchase", "filters": [where(NEW, True)]}
    [goal] = service.rows({"name": "goals", "goals": [bought]})
    assert (goal["conversions"], goal["conversion_rate"]) == (1, 50.0)

    funnel = {"name": "funnel", "steps": [{"event": "purchase"}, {"path": "/"}]}
    found = service.rows({**funnel, "breakdown": NEW})
    starts = {row["breakdown"]: row["visitors"] for row in found if row["step"] == 1}
    assert starts == {"true": 1, "false": 1}

    save(service, "goals", name="First purchase", **bought)
    converted = {"metric": "conversions", "goal": "First purchase"}
    found = metrics_rows(service, converted, "events", dimensions=[NEW])
    assert {row[NEW]: row["conversions"] for row in found} == {True: 1, False: 0, None: 0}
    filters = [where("goal", "First purchase")]
    assert metrics_rows(service, "events", filters=filters) == [{"events": 1}]


def test_what_visitors_did_is_restricted_by_them(service: InProcessService) -> None:
    """New is who has no event before the time range of the query, whenever it was done."""
    for within in ("range", "ever"):
        did = {"filters": [where(NEW, False)], "within": within}
        assert kept(service, {"has_done": did}) == 2
        assert kept(service, {"has_not_done": did}) == 2


def test_devices_of_a_person_were_seen_together(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(
        a_view("/", visitor="phone", session="s1", at="2026-09-01T10:00:00Z"),
        a_view("/", visitor="desktop", session="s2", at="2026-11-10T10:00:00Z"),
        an_identity("anna", visitor="phone", at="2026-12-01T10:00:00Z"),
        an_identity("anna", visitor="desktop", at="2026-12-01T10:00:00Z"),
    )

    assert kept(service, where(NEW, True)) == 1
    assert kept(service, where(NEW, True), person="profile") == 0
    reply = ask(service, {"groupBy": [FIRST]}, person="profile")
    assert reply.json["data"] == [{FIRST: OLD_TIME, "n": 1}]


def test_tables_without_visitors_have_none(service: InProcessService) -> None:
    reply = service.custom("clicks", [{"field": FIRST, "aggregate": "min"}])
    assert reply.status == 400
    reply = service.custom("sessions", [{"field": NEW, "aggregate": "count"}])
    assert reply.status == 400
    assert "did you mean" in error(service, "visitors", filters=[where("visitor.is_now", True)])


def test_they_are_in_the_catalogues(service: InProcessService) -> None:
    tables = service.ask("GET", "/v1/query/tables").json["tables"]
    [events] = [table for table in tables if table["name"] == "events"]
    facts = {c["name"] for c in events["columns"] if c["scope"] == "visitor"}
    assert facts == set(VISITOR_FACT_FIELDS)
    types = service.ask("GET", "/v1/query/types", include_meta="true").json["configs"]
    assert set(VISITOR_FACT_FIELDS) <= set(types["summary"]["allowedFilters"])
