import stat
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.demo.demo_file import example_query
from deploy.demo.first_start import ExpectedCounts, expected_counts, first_visits
from deploy.demo.traffic import BOT_USER_AGENT, DemoVisit, generate_visits, last_week
from schemas.runtime.settings import Settings
from schemas.tables.errors import ErrorReport
from schemas.tables.events import CustomEvent
from schemas.tables.vitals import Vital

NOW = 1_795_262_400_000  # 2026-11-21T12:00:00Z
DAY = 86_400_000


@pytest.fixture(scope="module")
def week() -> list[DemoVisit]:
    return generate_visits(2026, 300, *last_week(NOW))


def read(items: tuple[dict[str, Any], ...], kind: type[Any]) -> list[Any]:
    return msgspec.json.decode(msgspec.json.encode(items), type=list[kind])  # type: ignore[valid-type]  # a type of the caller


def test_the_same_seed_makes_the_same_week(week: list[DemoVisit]) -> None:
    assert generate_visits(2026, 300, *last_week(NOW)) == week


def test_another_seed_makes_another_week(week: list[DemoVisit]) -> None:
    assert generate_visits(2027, 300, *last_week(NOW)) != week


def test_every_item_is_one_that_the_collector_takes(week: list[DemoVisit]) -> None:
    events = [event for visit in week for event in read(visit.events, CustomEvent)]
    vitals = [vital for visit in week for vital in read(visit.vitals, Vital)]
    errors = [error for visit in week for error in read(visit.errors, ErrorReport)]

    assert len(events) > 800
    assert len(vitals) > 2000
    assert len(errors) > 3


def test_every_item_lies_within_the_seven_days_that_are_not_clamped(week: list[DemoVisit]) -> None:
    times = [i["timestamp"] for v in week for i in (*v.events, *v.vitals, *v.errors)]

    assert min(times) > NOW - 7 * DAY
    # Vitals and errors are of a page whose next view would still be in the span.
    assert max(event["timestamp"] for v in week for event in v.events) < NOW


def test_a_session_is_of_one_visitor(week: list[DemoVisit]) -> None:
    owners = {
        (item["sessionId"], item["anonymousId"])
        for visit in week
        for item in (*visit.events, *visit.vitals, *visit.errors)
    }

    assert len(owners) == len({session for session, _ in owners}) == len(week)


def test_a_week_has_everything_that_the_dashboards_show(week: list[DemoVisit]) -> None:
    names = Counter(event["name"] for visit in week for event in visit.events)
    hrefs = [e.get("href") for v in week for e in v.events if e["name"] == "outgoing_link"]

    assert {"screen_view", "outgoing_link", "signup"} <= set(names)
    assert names["screen_view"] > sum(names.values()) / 2
    assert all(hrefs)
    assert any(visit.by_link for visit in week)
    assert any("utm_source" in event for visit in week for event in visit.events)
    assert len({visit.country for visit in week}) > 5


def test_days_are_livelier_than_nights(week: list[DemoVisit]) -> None:
    germans = [
        v.start_ms // 3_600_000 % 24
        for v in generate_visits(1, 2000, *last_week(NOW))
        if v.country == "DE"
    ]
    night = sum(hour in (0, 1, 2, 3) for hour in germans)  # 1 to 5 in Berlin
    day = sum(hour in (8, 9, 10, 11) for hour in germans)  # 9 to 13 in Berlin

    assert day > 4 * night


def test_what_a_visit_sends_counts_all_its_items() -> None:
    visit = DemoVisit(0, "agent", "DE", "de-DE", None, ({}, {}), ({},), (), by_link=True)

    assert visit.items == 3


def test_what_a_week_leaves_is_told_apart_by_where_it_goes() -> None:
    person = DemoVisit(0, "agent", "DE", "de-DE", None, ({}, {}), ({},), (), by_link=True)
    program = DemoVisit(0, BOT_USER_AGENT, "DE", "de-DE", None, ({},), ({},), ({},), by_link=False)

    stored = expected_counts([person, program, person])

    assert stored == ExpectedCounts(human_events=4, bot_events=1, vitals=3, errors=1)
    assert stored.items == sum(visit.items for visit in (person, program, person))
    assert stored.summary == "4 events from people, 1 from bots, 3 vitals, 1 errors"


def test_visitors_of_the_weeks_before_come_again() -> None:
    older, recent = first_visits(NOW)
    begin = last_week(NOW)[0]
    before, after = (
        {event["anonymousId"] for visit in visits for event in visit.events}
        for visits in (older, recent)
    )

    assert max(visit.start_ms for visit in older) < begin <= min(v.start_ms for v in recent)
    assert len(before & after) > 100
    assert 800 < len(after) < 1500


def test_a_journal_gets_the_file_of_the_key_and_a_person_the_key(tmp_path: Path) -> None:
    text = '{"collectUrl":"c","queryUrl":"http://q","organizationId":"o","websiteId":"w",'
    (tmp_path / "demo.json").write_text(text + '"apiKey":"tm_secret","linkId":"l"}')
    settings = Settings(data_dir=str(tmp_path))

    to_journal, to_person = example_query(settings, shows_key=False), example_query(settings)

    header = tmp_path / "demo.header"
    assert "tm_secret" not in to_journal
    assert f"-H @{header}" in to_journal
    assert "-H 'x-api-key: tm_secret'" in to_person
    assert header.read_text() == "x-api-key: tm_secret\n"
    assert stat.S_IMODE(header.stat().st_mode) == 0o600
