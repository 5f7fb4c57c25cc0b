"""Operators of filters: the rows that each keeps."""

import pytest

from query.request.operators import OPERATORS
from tests.query.custom_queries import rows
from tests.query.lake import (
    a_view,
)
from tests.query.query_service import InProcessService

FILTERED = [
    a_view("/a", country="DE", visitor="u1"),
    a_view("/ab", country="FR", visitor="u2"),
    a_view("/b_", visitor="u3"),
]


@pytest.mark.parametrize(
    ("field", "operator", "value", "visitors"),
    [
        ("country", "eq", "DE", ["u1"]),
        ("country", "ne", "DE", ["u2", "u3"]),
        ("country", "gt", "DE", ["u2"]),
        ("country", "gte", "DE", ["u1", "u2"]),
        ("country", "lt", "FR", ["u1"]),
        ("country", "lte", "FR", ["u1", "u2"]),
        ("country", "in", ["DE", "FR"], ["u1", "u2"]),
        ("country", "not_in", ["DE", "US"], ["u2", "u3"]),
        ("path", "contains", "b", ["u2", "u3"]),
        ("path", "not_contains", "b", ["u1"]),
        ("country", "not_contains", "D", ["u2", "u3"]),
        ("path", "starts_with", "/a", ["u1", "u2"]),
        ("path", "ends_with", "_", ["u3"]),
        ("path", "contains", "%", []),
        ("country", "is_null", None, ["u3"]),
        ("country", "is_not_null", None, ["u1", "u2"]),
        ("ts", "gte", "2026-11-10T12:00:00Z", ["u1", "u2", "u3"]),
        ("ts", "lt", 1_794_312_000_000, []),  # the same instant
        ("is_bot", "eq", False, ["u1", "u2", "u3"]),
    ],
)
def test_every_operator_keeps_the_rows_it_should(
    service: InProcessService, field: str, operator: str, value: object, visitors: list[str]
) -> None:
    service.holds(*FILTERED)
    condition = {"field": field, "operator": operator, "value": value}

    found = rows(service, "events", groupBy=["anonymous_id"], filters=[condition])

    assert [row["anonymous_id"] for row in found] == visitors


def test_no_operator_is_left_untested() -> None:
    marks = test_every_operator_keeps_the_rows_it_should.pytestmark  # type: ignore[attr-defined]

    assert {case[1] for case in marks[0].args[1]} == {operator.name for operator in OPERATORS}
