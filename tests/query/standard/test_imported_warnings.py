"""Warnings that imported totals are not in the numbers of a result."""

from typing import Any

import pytest

from tests.query.imported_rows import OWN, PAGES, WHOLE
from tests.query.lake import Stored, imported
from tests.query.query_service import InProcessService

BESIDE, CANNOT_ANSWER = "IMPORTED_TOTALS", "IMPORTED_TOTALS_CANNOT_ANSWER"
OF_PLAUSIBLE = (
    "imported totals of 2026-11-01 to 2026-11-04 from Plausible are not in these numbers; "
)


def warnings_of(service: InProcessService, parameter: object, **more: Any) -> list[Any]:
    entry = service.query(parameter, **more).json["data"][0]
    assert entry["success"], entry
    return [tuple(each.values()) for each in entry["meta"].get("warnings", [])]


@pytest.mark.parametrize(
    ("parameter", "code", "text"),
    [
        ("summary", BESIDE, "query type 'imported_totals' has them"),
        ("events_by_date", BESIDE, "query type 'imported_totals_by_date' has them"),
        (
            "top_pages",
            BESIDE,
            "query type 'imported_totals' with the dimension 'path' has them",
        ),
        ("country", CANNOT_ANSWER, "they are not split by 'country'"),
        ("retention", CANNOT_ANSWER, "counts by day cannot answer this query"),
    ],
)
def test_other_types_say_that_totals_are_not_in_their_numbers(
    service: InProcessService, parameter: str, code: str, text: str
) -> None:
    service.holds(*WHOLE, *PAGES, *OWN)

    assert warnings_of(service, parameter) == [(code, OF_PLAUSIBLE + text, 3)]


def test_filtered_answers_say_that_totals_cannot_be_filtered(service: InProcessService) -> None:
    service.holds(*WHOLE, *PAGES, *OWN)
    filters = [{"field": "path", "op": "eq", "value": "/"}]

    assert warnings_of(service, "summary", filters=filters) == [
        (CANNOT_ANSWER, f"{OF_PLAUSIBLE}they cannot be filtered", 3)
    ]


@pytest.mark.parametrize("rows", [(), OWN])
def test_answers_without_imported_days_have_no_warning(
    service: InProcessService, rows: tuple[Stored, ...]
) -> None:
    """None are stored of this website."""
    service.holds(*rows, imported("2026-11-01", visitors=1000, website="rival"))

    assert warnings_of(service, "summary") == []
    assert warnings_of(service, "errors_by_type") == []
