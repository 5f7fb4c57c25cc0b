"""time_to_convert: numbers worked out by hand."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.query.lake import Stored, a_view, an_event, an_identity
from tests.query.query_service import InProcessService, start_service

CONVERTED = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY, INSTANT = timedelta(days=1), timedelta(milliseconds=1)
WAITED = (
    *(timedelta(), DAY - INSTANT, DAY, 4 * DAY - INSTANT, 4 * DAY, 8 * DAY - INSTANT),
    *(8 * DAY, 15 * DAY, 31 * DAY, 61 * DAY, 91 * DAY - INSTANT, 91 * DAY),
)
"""From the first event to the conversion, of a visitor each."""
LABELS = ("0", "1", "2", "3", "4-7", "8-14", "15-30", "31-60", "61-90", "91+")
SIGNUP: Mapping[str, Any] = {"event": "signup"}


def text(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def waiting(number: int, waited: timedelta) -> tuple[Stored, Stored]:
    """The first view of a visitor, and a conversion that long after it."""
    who: dict[str, Any] = {"visitor": f"w{number}", "session": f"w{number}"}
    first = a_view("/", **who, at=text(CONVERTED - waited))
    return first, an_event("signup", **who, at=text(CONVERTED))


ODD: tuple[Stored, ...] = (
    # converts on the 5th, the 10th and the 11th; the first event is no page view
    an_event("opened", visitor="a", session="a0", at="2026-11-04T12:00:00Z", country="FR"),
    an_event("signup", visitor="a", session="a1", at="2026-11-05T18:00:00Z", country="FR"),
    an_event("signup", visitor="a", session="a2", at="2026-11-10T12:00:00Z", country="FR"),
    an_event("signup", visitor="a", session="a3", at="2026-11-11T12:00:00Z", country="DE"),
    # a bot, and a visitor whose earlier event was taken for one
    a_view("/", visitor="bot", session="b1", at="2026-11-08T12:00:00Z", is_bot=True),
    an_event("signup", visitor="bot", session="b1", at="2026-11-10T12:00:00Z", is_bot=True),
    a_view("/", visitor="b", session="b2", at="2026-11-07T12:00:00Z", is_bot=True),
    a_view("/", visitor="b", session="b3", at="2026-11-10T10:00:00Z"),
    an_event("signup", visitor="b", session="b3", at="2026-11-10T12:00:00Z"),
    # of no visitor; of a visitor who was on another website before
    an_event("signup", visitor=None, session=None, at="2026-11-10T12:00:00Z"),
    a_view("/", visitor="c", session="c1", at="2026-11-01T12:00:00Z", website="blog"),
    an_event("order", visitor="c", session="c2", at="2026-11-13T12:00:00Z"),
    # one person with two devices
    a_view("/", visitor="phone", session="d1", at="2026-11-12T12:00:00Z"),
    a_view("/done/1", visitor="laptop", session="d2", at="2026-11-15T12:00:00Z"),
    an_identity("dora", visitor="phone"),
    an_identity("dora", visitor="laptop"),
    # clocks were set back in the night to the 25th of October
    a_view("/", visitor="e", session="e1", at="2026-10-24T12:00:00+02:00"),
    an_event("signup", visitor="e", session="e2", at="2026-10-25T10:59:59+01:00"),
    a_view("/", visitor="f", session="f1", at="2026-10-24T12:00:00+02:00"),
    an_event("signup", visitor="f", session="f2", at="2026-10-25T11:00:00+01:00"),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    people = (waiting(number, waited) for number, waited in enumerate(WAITED))
    running.holds(*(row for rows in people for row in rows), *ODD)
    return running


def times(
    service: InProcessService,
    start: str,
    end: str,
    goal: Mapping[str, Any] = SIGNUP,
    **body: Any,
) -> tuple[list[Any], float | None]:
    """The days and visitors of the rows that have some; the median."""
    query = {"name": "time_to_convert", "goal": goal}
    rows = service.rows(query, startDate=start, endDate=end, **body)
    assert [row["days"] for row in rows] == [*LABELS]
    [median] = {row["overall_median_seconds"] for row in rows}
    return [(row["days"], row["visitors"]) for row in rows if row["visitors"]], median


def test_visitors_are_counted_by_whole_days_of_24_hours(service: InProcessService) -> None:
    day = {"startDate": "2026-11-20", "endDate": "2026-11-20"}

    rows = service.rows({"name": "time_to_convert", "goal": SIGNUP}, **day)

    # the middle two of twelve waited 8 days, one of them a millisecond less
    assert [tuple(row.values()) for row in rows] == [
        ("0", 0, 0, 2, 16.67, 691_200.0),
        ("1", 1, 1, 1, 8.33, 691_200.0),
        ("2", 2, 2, 0, 0.0, 691_200.0),
        ("3", 3, 3, 1, 8.33, 691_200.0),
        ("4-7", 4, 7, 2, 16.67, 691_200.0),
        ("8-14", 8, 14, 1, 8.33, 691_200.0),
        ("15-30", 15, 30, 1, 8.33, 691_200.0),
        ("31-60", 31, 60, 1, 8.33, 691_200.0),
        ("61-90", 61, 90, 2, 16.67, 691_200.0),
        ("91+", 91, None, 1, 8.33, 691_200.0),
    ]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Europe/Berlin"])
def test_days_are_no_days_of_a_calendar(service: InProcessService, zone: str) -> None:
    found = times(service, "2026-10-24", "2026-10-26", timezone=zone)

    # a second less than 24 hours, and 24 hours, both on the next day
    assert found == ([("0", 1), ("1", 1)], 86_399.5)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-11-05", "2026-11-05", ([("1", 1)], 108_000.0)),
        ("2026-11-05", "2026-11-11", ([("0", 1), ("1", 1)], 57_600.0)),
        # of a six days after the first event, and not since the earlier conversion
        ("2026-11-10", "2026-11-11", ([("0", 1), ("4-7", 1)], 262_800.0)),
        ("2026-11-11", "2026-11-11", ([("4-7", 1)], 604_800.0)),
        ("2026-11-12", "2026-11-12", ([], None)),
    ],
)
def test_the_first_conversion_in_the_time_range_counts(
    service: InProcessService, start: str, end: str, expected: object
) -> None:
    assert times(service, start, end) == expected


def test_filters_choose_conversions_and_no_first_events(service: InProcessService) -> None:
    german = [{"field": "country", "operator": "eq", "value": "DE"}]
    goal = {"event": "signup", "filters": german}
    is_new = [{"field": "visitor.is_new", "operator": "eq", "value": True}]
    days = ("2026-11-05", "2026-11-11")

    # on the 11th, seven days after the event from France
    assert times(service, *days, filters=german) == ([("4-7", 1)], 604_800.0)
    assert times(service, *days, goal) == ([("4-7", 1)], 604_800.0)
    # who was there before the range is not new
    assert times(service, *days, filters=is_new) == ([("0", 1)], 7_200.0)


def test_bots_count_where_they_are_included(service: InProcessService) -> None:
    day = ("2026-11-10", "2026-11-10")

    assert times(service, *day) == ([("0", 1), ("4-7", 1)], 262_800.0)
    # of a 6 days, of the bot 2, and of b 3: the first event is that of a bot
    assert times(service, *day, include_bots=True) == (
        [("2", 1), ("3", 1), ("4-7", 1)],
        259_200.0,
    )


def test_another_website_has_first_events_of_its_own(service: InProcessService) -> None:
    day = ("2026-11-13", "2026-11-13")

    assert times(service, *day, {"event": "order"}) == ([("0", 1)], 0.0)


def test_the_devices_of_a_person_have_one_first_event(service: InProcessService) -> None:
    day, goal = ("2026-11-15", "2026-11-15"), {"path": "/done/*"}

    assert times(service, *day, goal) == ([("0", 1)], 0.0)
    assert times(service, *day, goal, person="profile") == ([("3", 1)], 259_200.0)


def test_a_saved_goal_is_found_by_its_name(service: InProcessService) -> None:
    saved = {"name": "Done", "path": "/done/*"}
    reply = service.ask("POST", "/v1/goals", saved, key="acme-admin", website_id="shop")
    assert reply.status == 201, reply.json

    found = times(service, "2026-11-15", "2026-11-15", {"name": "Done"}, person="profile")

    assert found == ([("3", 1)], 259_200.0)


@pytest.mark.parametrize(
    ("goal", "error"),
    [
        ({}, "'goal' must have one of 'event', 'path', 'goal' and 'name'"),
        (
            {"event": "signup", "value": "properties.price"},
            "Unknown member 'value' in 'parameters[0].goal'; known are event, path, goal, name, "
            "filters, label",
        ),
        ([SIGNUP], "'parameters[0].goal' must be an object, not an array"),
    ],
)
def test_a_goal_is_one_step(service: InProcessService, goal: object, error: str) -> None:
    reply = service.query({"name": "time_to_convert", "goal": goal})

    assert [entry["error"] for entry in reply.json["data"]] == [error]
