"""Visitors before a time range, over HTTP: who is new is the same as by stored rows."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from query.prepared import known_visitors
from query.prepared.known_visitors import are_among
from schemas.runtime.settings import Settings
from tests.query.lake import Stored, a_view, an_event
from tests.query.prepared.test_prepared_results import prepare
from tests.query.query_service import InProcessService
from tests.query.scope.test_visitor_times import prepare as prepare_visitors

DAYS = ("2026-10-01", "2026-10-31", *(f"2026-11-{day:02}" for day in (1, 2, 8, 9, 15, 17)))
TODAY = "2026-11-30T00:10:00Z"
RANGES = [("2026-11-03", "2026-11-30"), ("2026-11-09", "2026-11-09"), ("2026-11-16", "2026-11-18")]


def some_events(seed: int, count: int = 240) -> list[Stored]:
    """Events of several weeks; some come late, are bots', or have no visitor or no session."""
    chance = Random(seed)
    rows = []
    for _ in range(count):
        day = chance.choice(DAYS)
        at = f"{day}T{chance.randrange(24):02}:{chance.randrange(60):02}:00Z"
        late = "2026-11-29T08:00:00Z" if chance.random() < 0.1 else None
        visitor = None if chance.random() < 0.1 else f"u{chance.randrange(40)}"
        session = None if visitor is None or chance.random() < 0.2 else f"s{visitor}-{day}"
        more: dict[str, Any] = {"visitor": visitor, "session": session, "at": at, "received": late}
        is_bot = chance.random() < 0.15
        row = a_view("/", **more) if chance.random() < 0.6 else an_event("signup", **more)
        row.values["is_bot"] = is_bot or None
        rows.append(row)
    return rows


def answers(service: InProcessService, *more: str) -> list[tuple[bool, Any]]:
    """Whether each answer is prepared, and its rows; `more` is added to the request."""
    found = []
    for start, end in RANGES:
        for zone in ("UTC", "America/New_York"):
            parameters = [{"name": "lifecycle", "period": p} for p in ("day", "week", "month")]
            body = {"parameters": parameters, "startDate": start, "endDate": end, "timezone": zone}
            query = {"website_id": "shop", **dict.fromkeys(more, "false")}
            reply = service.ask("POST", "/v1/query", body, **query).json["data"]
            found += [(each["meta"].get("prepared", False), each["data"]) for each in reply]
    return found


def expect_equal(service: InProcessService, *, at_least: int = 9) -> None:
    found, stored = answers(service), answers(service, "prepared")
    assert [rows for _, rows in found] == [rows for _, rows in stored]
    assert sum(is_prepared for is_prepared, _ in found) >= at_least
    assert not any(is_prepared for is_prepared, _ in stored)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2))])
def test_new_visitors_are_those_of_stored_rows(service: InProcessService, seed: int) -> None:
    service.holds(*some_events(seed))
    answers(service)
    prepare(service)
    expect_equal(service)

    # those of files that the keeper prepared, of others, and of rows of today
    prepare_visitors(Settings(data_dir=str(service.data)))
    service.holds(*some_events(seed + 50, 20))
    service.holds(a_view("/", visitor="u1", at="2026-11-01T00:00:00Z", received=TODAY))
    answers(service)
    prepare(service)
    expect_equal(service)


def test_an_event_before_the_range_that_comes_late_ends_being_new(
    service: InProcessService,
) -> None:
    service.holds(a_view("/", visitor="u1", at="2026-11-10T12:00:00Z"))
    day: dict[str, Any] = {"startDate": "2026-11-10", "endDate": "2026-11-10"}
    service.rows("lifecycle", **day)
    prepare(service)
    assert new(service, day) == [1]

    service.holds(a_view("/", visitor="u1", at="2026-10-01T12:00:00Z"))

    assert new(service, day) == [0]


def new(service: InProcessService, day: dict[str, Any]) -> Sequence[int]:
    """New visitors of each row of a prepared answer."""
    [entry] = service.query("lifecycle", **day).json["data"]
    assert entry["meta"]["prepared"]
    return [row["new"] for row in entry["data"]]


def test_very_many_earlier_visitors_are_left_to_stored_rows(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_visitors, "MAX_ROWS", 5)
    service.holds(*some_events(1))
    answers(service)
    prepare(service)

    expect_equal(service, at_least=0)
    by_period = [is_prepared for is_prepared, _ in answers(service)]
    assert not any(by_period[0::3] + by_period[1::3])
    assert all(by_period[2::6])  # in UTC nobody was there before October


def test_hashes_are_found_among_ascending_ones() -> None:
    earlier = np.array([2, 5, 9])

    assert are_among(np.array([9, 1, 5, 10, 2, 6]), earlier).tolist() == [
        True, False, True, False, True, False,
    ]  # fmt: skip
