"""Facts of visits are read of all visits, or of those of one CTE of the statement."""

from typing import Any

from tests.query.lake import a_view, an_event
from tests.query.query_service import NOVEMBER, InProcessService

ONLY = "session_hash IN (SELECT session_hash FROM touched_visits)"


def compiled(service: InProcessService, **goal: Any) -> str:
    """The SQL of an attribution, on one line."""
    body = {"parameters": [{"name": "attribution", "goal": {"event": "buy", **goal}}], **NOVEMBER}
    reply = service.ask("POST", "/v1/query/compile", body, website_id="shop")
    [entry] = reply.json["data"]
    sql: str = " ".join(entry["sql"].split())
    return sql.replace("( ", "(").replace(" )", ")")


def test_facts_are_those_of_the_touched_visits(service: InProcessService) -> None:
    service.holds(a_view("/", session="s1"), an_event("buy", session="s1"))

    sql = compiled(service)

    assert sql.index("touched_visits AS") < sql.index("visit_views AS") < sql.index(ONLY)
    assert sql.index("visit_views AS") < sql.index("visit_facts AS") < sql.index("touches AS")


def test_rows_that_need_facts_have_those_of_all_visits(service: InProcessService) -> None:
    service.holds(a_view("/", session="s1"), an_event("buy", session="s1"))
    of_channel = [{"field": "channel", "operator": "eq", "value": "Direct"}]

    sql = compiled(service, filters=of_channel)

    assert ONLY not in sql
    assert sql.index("visit_facts AS") < sql.index("scoped AS") < sql.index("touched_visits AS")
