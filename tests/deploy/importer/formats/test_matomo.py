"""A visits log becomes a line per action, numbered through the file."""

import json
from pathlib import Path
from typing import Any

from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.formats.matomo import actions_of
from deploy.importer.member_lines import FileLine
from tests.deploy.importer.builders import a_file

VIEW = {"type": "action", "url": "https://a.example/?x=1&amp;y=2", "timestamp": 1_793_527_200}


def a_visit(*actions: object, **more: Any) -> dict[str, Any]:
    return {"idVisit": "7", "visitorId": "9f2c", "actionDetails": list(actions), **more}


def actions(visit: dict[str, Any]) -> list[Any]:
    return [str(a) if isinstance(a, InvalidLine) else dict(a) for a in actions_of(visit)]


def test_the_first_page_view_has_the_source_of_the_visit() -> None:
    source = {"referrerType": "campaign", "referrerName": "spring", "referrerKeyword": "shoes"}

    first, second = actions(a_visit(VIEW, VIEW, countryCode="xx", userId=None, **source))

    common = {
        "session_id": "7",
        "visitor_id": "9f2c",
        "timestamp": 1_793_527_200,
        "url": "https://a.example/?x=1&y=2",
        "title": None,
    }
    assert first == {**common, "utm_campaign": "spring", "utm_term": "shoes"}
    assert second == common


def test_a_page_title_comes_without_html_entities() -> None:
    [view] = actions(a_visit({**VIEW, "pageTitle": "It&#039;s &lt;new&gt;"}))

    assert view["title"] == "It's <new>"


def test_other_actions_are_events_with_properties() -> None:
    at = {"timestamp": 1, "pageTitle": ""}
    found = actions(
        a_visit(
            {"type": "download", "url": "https://a.example/a.pdf", **at},
            {"type": "outlink", "url": "https://b.example/", **at},
            {"type": "search", "siteSearchKeyword": "shoes", "siteSearchCount": "3", **at},
            {"type": "event", "eventAction": "play", "eventValue": "1.5", "url": "/v", **at},
            {"type": "ecommerceOrder", "orderId": "o1", "revenue": "89", **at},
        )
    )

    assert [(each["event_name"], each["properties"], each.get("url")) for each in found] == [
        ("file_download", {"url": "https://a.example/a.pdf"}, None),
        ("outbound_click", {"url": "https://b.example/"}, None),
        ("site_search", {"keyword": "shoes", "count": 3}, None),
        ("play", {"value": 1.5}, "/v"),
        ("order", {"order_id": "o1", "revenue": 89}, None),
    ]


def test_what_is_no_action_is_named() -> None:
    assert actions(a_visit({"type": "goal"}, 3)) == [
        "this is no event: Matomo derives 'goal' from other actions",
        "an entry of 'actionDetails' is not an action",
    ]
    assert actions(a_visit() | {"actionDetails": {"0": VIEW}}) == [
        "'actionDetails' of the visit is not a list of actions"
    ]


def test_actions_are_numbered_through_the_file(tmp_path: Path) -> None:
    visits = [a_visit(VIEW, {"type": "goal"}), a_visit(VIEW)]
    text = json.dumps(visits[0]) + "\nbroken\n" + json.dumps(visits[1]) + "\n"

    lines: list[FileLine] = list(a_file(tmp_path, text).lines())

    assert [(line.number, line.reason[:18]) for line in lines] == [
        (1, ""), (2, "this is no event: "), (3, "not a JSON object:"), (4, ""),
    ]  # fmt: skip
