"""attribution: numbers worked out by hand."""

from typing import Any

import pytest

from tests.query.lake import a_view, an_event
from tests.query.query_service import InProcessService

SEARCH, AD, NONE = "Organic Search", "Paid Search", "Direct"
VISITS = (
    ("u1", "s1", "2026-10-20", SEARCH),
    ("u1", "s2", "2026-11-01", AD),
    ("u1", "s3", "2026-11-05", AD),
    ("u1", "s4", "2026-11-10", NONE),
    ("u2", "s5", "2026-11-09", NONE),
    ("u2", "s6", "2026-11-10", SEARCH),
)
"""Visitor, session, day and channel; each begins at noon."""


def hold(service: InProcessService) -> None:
    service.holds(
        *(
            a_view("/", visitor=visitor, session=session, at=f"{day}T12:00:00Z", channel=channel)
            for visitor, session, day, channel in VISITS
        ),
        an_event("buy", session="s4", at="2026-11-10T12:05:00Z", properties='{"price": 30}'),
        an_event("buy", session="s4", at="2026-11-10T12:06:00Z", properties='{"price": "free"}'),
        an_event(
            "buy", visitor="u2", session="s6", at="2026-11-10T12:05:00Z", properties='{"price": 10}'
        ),
        # a server sends it: of a visitor without any visit
        an_event("buy", visitor="u9", session=None, at="2026-11-10T12:00:00Z"),
    )


def credited(service: InProcessService, **options: Any) -> list[tuple[Any, ...]]:
    query = {"name": "attribution", "goal": {"event": "buy"}, **options}
    rows = service.rows(query, startDate="2026-11-10", endDate="2026-11-10")
    return [(row["name"], row["conversions"]) for row in rows if row["conversions"]]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("first_touch", [(SEARCH, 2.0), (NONE, 1.0), (None, 1.0)]),
        ("last_touch", [(NONE, 2.0), (SEARCH, 1.0), (None, 1.0)]),
        ("last_non_direct", [(AD, 2.0), (SEARCH, 1.0), (None, 1.0)]),
        # two conversions of four touches, one of two
        ("linear", [(NONE, 1.0), (SEARCH, 1.0), (AD, 1.0), (None, 1.0)]),
        # 0.4 + 0.4 + 0.5; 0.5 + 0.8; 2 x 0.2
        ("position_based", [(NONE, 1.3), (SEARCH, 1.3), (None, 1.0), (AD, 0.4)]),
    ],
)
def test_each_model_divides_every_conversion(
    service: InProcessService, model: str, expected: list[tuple[Any, ...]]
) -> None:
    hold(service)

    found = credited(service, model=model)

    assert found == expected
    assert sum(conversions for _, conversions in found) == pytest.approx(4)


def test_a_visit_before_the_window_is_no_touch(service: InProcessService) -> None:
    hold(service)

    assert credited(service, model="first_touch", window_days=9) == [
        (AD, 2.0),
        (NONE, 1.0),
        (None, 1.0),
    ]


def test_values_are_credited_and_assists_counted(service: InProcessService) -> None:
    hold(service)
    query = {
        "name": "attribution",
        "goal": {"event": "buy", "value": "properties.price"},
        "model": "linear",
    }

    rows = service.rows(query, startDate="2026-11-10", endDate="2026-11-10")

    assert [(row["name"], row["value"], row["assisted_conversions"]) for row in rows] == [
        (NONE, 12.5, 3),
        (SEARCH, 12.5, 3),
        (AD, 15.0, 2),
        (None, 0.0, 0),
    ]
    assert [row["percentage"] for row in rows] == [25.0, 25.0, 25.0, 25.0]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("last_touch", [(AD, 1.0)]),
        ("first_touch", [(SEARCH, 1.0)]),
        ("last_non_direct", [(AD, 1.0)]),
    ],
)
@pytest.mark.parametrize("began", ["2026-11-10T12:05:00Z", "2026-11-10T12:00:00Z"])
def test_the_visit_of_the_conversion_is_the_last_touch_when_another_began_after_it(
    service: InProcessService, model: str, expected: list[tuple[Any, ...]], began: str
) -> None:
    service.holds(
        a_view("/", session="s1", at="2026-11-10T12:00:00Z", channel=AD),
        a_view("/", session="s2", at=began, channel=SEARCH),
        an_event("buy", session="s1", at="2026-11-10T12:10:00Z"),
    )

    assert credited(service, model=model) == expected


def test_filters_choose_conversions_and_no_touches(service: InProcessService) -> None:
    hold(service)
    query = {"name": "attribution", "goal": {"event": "buy"}, "model": "first_touch"}
    filters = [{"field": "visit.channel", "op": "eq", "value": NONE}]

    rows = service.rows(query, startDate="2026-11-10", endDate="2026-11-10", filters=filters)

    assert [tuple(row.values())[:4] for row in rows] == [
        (SEARCH, 2.0, 100.0, 2),
        (NONE, 0.0, 0.0, 2),
        (AD, 0.0, 0.0, 2),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "path"}, "Unknown column 'path' in 'by'"),
        (
            {"goal": {"event": "buy", "value": "price"}},
            "'goal.value' is 'price'; use a numeric property such as properties.total",
        ),
        ({"window_days": 0}, "window_days"),
        ({"model": "u_shaped"}, "model"),
    ],
)
def test_what_it_cannot_use_is_refused(
    service: InProcessService, options: dict[str, Any], message: str
) -> None:
    hold(service)

    response = service.query({"name": "attribution", "goal": {"event": "buy"}, **options})

    assert message in response.json["data"][0]["error"]
