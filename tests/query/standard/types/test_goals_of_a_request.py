"""Goals that a request describes, with numbers worked out by hand."""

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService


def test_goals_are_a_share_of_all_who_came(service: InProcessService) -> None:
    service.holds(
        a_view("/a", visitor="u1"),
        a_view("/thanks", visitor="u1"),
        a_view("/a", visitor="u2", session="s2"),
        a_view("/a", visitor="u3", session="s3"),
        an_event("signup", visitor="u1"),
        an_event("signup", visitor="u1"),
    )

    goals = [{"event": "signup"}, {"path": "/thanks", "label": "bought"}, {"event": "never"}]
    assert service.rows({"name": "goals", "goals": goals}) == [
        {
            "name": "signup",
            "conversions": 2,
            "visitors": 1,
            "sessions": 1,
            "conversion_rate": 33.33,
            "value": None,
        },
        {
            "name": "bought",
            "conversions": 1,
            "visitors": 1,
            "sessions": 1,
            "conversion_rate": 33.33,
            "value": None,
        },
        {
            "name": "never",
            "conversions": 0,
            "visitors": 0,
            "sessions": 0,
            "conversion_rate": 0.0,
            "value": None,
        },
    ]
