"""Fields that are stored as sent."""

import pytest

from schemas.kinds import (
    ERROR_REPORT,
    VISITOR_IDENTITY,
    WEB_VITAL,
)
from tests.stream.enrich.enriched_rows import facts, row


def test_an_error_is_of_level_error_unless_it_says_otherwise() -> None:
    assert facts({"message": "m"}, "level", kind=ERROR_REPORT) == ("error",)
    assert facts({"message": "m", "level": "warning"}, "level", kind=ERROR_REPORT) == ("warning",)


@pytest.mark.parametrize(("sent", "stored"), [("2.4.1", "2.4.1"), ("", None), (None, None)])
def test_an_empty_release_is_none(sent: str | None, stored: str | None) -> None:
    item = {"message": "m", "release": sent}

    assert facts(item, "release", kind=ERROR_REPORT) == (stored,)


def test_timings_of_a_page_view_are_carried_over_in_milliseconds() -> None:
    timings = {
        "load_time": 1200,
        "dom_ready_time": 800,
        "dom_interactive": 700,
        "ttfb": 90,
        "request_time": 40,
        "render_time": 60_000,
    }
    fields = {**timings, "interaction_count": 3, "page_count": 2, "connection_type": "4g"}

    found = row({"name": "screen_view", "path": "/", **fields})

    assert {name: found[name] for name in fields} == fields


@pytest.mark.parametrize("interactive", [False, True, None])
def test_whether_an_event_is_an_interaction_is_kept(interactive: bool | None) -> None:
    assert facts({"name": "a", "interactive": interactive}, "interactive") == (interactive,)


def test_a_vital_is_kept_to_four_decimals() -> None:
    item = {"path": "/", "metricName": "CLS", "metricValue": 0.12345}

    assert str(row(item, WEB_VITAL)["metric_value"]) == "0.1235"
    # Earlier collectors accepted it.
    assert str(row({**item, "metricValue": -1}, WEB_VITAL)["metric_value"]) == "-1.0000"


@pytest.mark.parametrize(
    ("traits", "text"),
    [({"plan": "ä", "n": 12.0}, '{"plan":"ä","n":12}'), ({}, "{}"), (None, None)],
)
def test_objects_are_kept_as_text(traits: object, text: str | None) -> None:
    item = {"profileId": "p1", "traits": traits}

    assert facts({"name": "a", "properties": traits}, "properties") == (text,)
    assert facts(item, "profile_id", "traits", kind=VISITOR_IDENTITY) == ("p1", text)
