"""Query parameters of exports: what they become, and what is refused."""

import pytest
from starlette.datastructures import QueryParams

from query.export.request import PreparedExport, parse_export
from query.request.subject import QuerySubject, SubjectKind
from schemas.errors import Malformed
from schemas.registry.validation import new_key
from tests.query.query_service import NOVEMBER, NOW

SHOP = QuerySubject(SubjectKind.WEBSITE, ("shop",), "acme", "Europe/Berlin")
KEY, _ = new_key("acme", ("read:data",), NOW, name="reader")


def parsed(table: str = "events", **given: str) -> PreparedExport:
    return parse_export(table, QueryParams({**NOVEMBER, **given}), NOW, SHOP, KEY)


def test_an_export_is_of_the_days_of_the_website() -> None:
    export = parsed()

    assert export.query.time_range.zone == "Europe/Berlin"
    assert export.query.time_range.start_ms == 1_793_487_600_000
    assert export.query.include_bots is False
    assert [table.name for table in export.tables] == ["events"]


def test_the_time_zone_of_the_request_comes_first() -> None:
    assert parsed(timezone="UTC").query.time_range.start_ms == 1_793_491_200_000


@pytest.mark.parametrize(
    ("as_of", "versions"),
    [("3", {"events": 3}), ('{"events": 2, "errors": 1}', {"events": 2, "errors": 1})],
)
def test_versions_are_a_number_or_those_of_a_response(as_of: str, versions: dict[str, int]) -> None:
    assert parsed(asOf=as_of).query.as_of == versions


def test_facts_of_the_visit_read_events_as_well() -> None:
    export = parsed("errors", columns="ts,visit.channel")

    assert [column.name for column in export.columns] == ["ts", "visit.channel"]
    assert [table.name for table in export.tables] == ["errors", "events"]


def test_filters_are_json() -> None:
    export = parsed(filters='[{"field": "path", "operator": "eq", "value": "/"}]')

    assert export.where.values == {"f0_0": "/"}


@pytest.mark.parametrize(
    ("table", "given", "message"),
    [
        ("event", {}, "Unknown table 'event'; did you mean 'events'?"),
        ("events", {"include_bots": "yes"}, "'include_bots' is 'yes'; it must be true or false"),
        ("events", {"asOf": "newest"}, "'asOf' is 'newest'; it must be a version number"),
        ("events", {"filters": "path"}, "'filters' is not valid JSON"),
        ("events", {"columns": "pth"}, "Unknown column 'pth' in table 'events'"),
        ("events", {"timezone": "Mars"}, "'timezone'"),
    ],
)
def test_wrong_parameters_are_refused(table: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(Malformed, match=message.replace("?", r"\?")):
        parsed(table, **given)
