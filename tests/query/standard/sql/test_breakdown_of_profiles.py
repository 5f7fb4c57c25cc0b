"""Breakdowns by profile, trait and website: numbers worked out by hand."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_identity
from tests.query.query_service import InProcessService
from tests.query.standard.sql.test_breakdown import STEPS, at, visit


@pytest.fixture
def people(service: InProcessService) -> InProcessService:
    """Three visitors, the first two of one profile on a plan; and one on another website."""
    for visitor in "abc":
        visit(service, visitor, None, signs_up=visitor == "a")
    service.holds(a_view("/", at=at("12:00:00"), website="blog", visitor="a", session="blog"))
    for visitor in "ab":
        service.holds(an_identity("anna", visitor=visitor, traits='{"plan":"pro"}'))
    return service


@pytest.mark.parametrize(
    ("breakdown", "group"), [("visitor.profile_id", "anna"), ("traits.plan", "pro")]
)
def test_groups_of_profiles_and_traits(
    people: InProcessService, breakdown: str, group: str
) -> None:
    def counted(question: dict[str, Any], field: str) -> list[Any]:
        rows = people.rows({**question, "breakdown": breakdown})
        return [(row["breakdown"], row[field]) for row in rows if not row.get("period")]

    assert counted({"name": "goals", "goals": [{"path": "/"}]}, "visitors") == [
        (group, 2),
        (None, 1),
    ]
    assert counted({"name": "funnel", "steps": STEPS}, "visitors") == [
        (group, 2),
        (group, 1),
        (None, 1),
        (None, 0),
    ]
    assert counted({"name": "paths"}, "sessions") == [(group, 2), (None, 1)]
    found = counted({"name": "retention", "period": "month"}, "visitors")
    assert found == [(group, 2), (None, 1)]
    of = {"name": "paths", "path": "/", "breakdown": breakdown, "group": {"breakdown": group}}
    behind = people.rows({"name": "visitors", "of": of})
    assert sorted(row["visitor_id"] for row in behind) == ["a", "b"]


def test_groups_of_websites(people: InProcessService) -> None:
    question = {"name": "goals", "goals": [{"path": "/"}], "breakdown": "website_id"}
    rows = people.query(question, subject="shop,blog").json["data"][0]["data"]

    assert [(row["breakdown"], row["visitors"]) for row in rows] == [("shop", 3), ("blog", 1)]
