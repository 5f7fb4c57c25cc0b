"""Derived visitors and sessions: which events get them, and that a replay gives the same ones."""

from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import Envelope
from schemas.kinds import CUSTOM_EVENT, ERROR_REPORT
from schemas.tables import ERRORS, EVENTS
from stream.enrich.rules.hashes import hash63
from stream.enrich.rules.lookups import Lookups
from stream.state import session_spans
from stream.state.session_spans import (
    SessionSpan,
    SessionSpans,
    SessionSpill,
    derived_session_id,
    extended,
)
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def a_writer(folder: Path) -> BatchWriter:
    return BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())


def at(*minutes: float, visitor: str | None = "ann", **envelope: Any) -> Envelope:
    """Events of a visitor these minutes after ten o'clock, named by the minute."""
    ten = NOON_MS - 2 * HOUR_MS
    items = [
        {"name": str(m), "anonymousId": visitor, "timestamp": int(ten + m * MINUTE_MS)}
        for m in minutes
    ]
    return an_envelope(items, **envelope)


def sessions(folder: Path) -> list[set[str]]:
    """The names of the events of each session, by the first name."""
    actual: dict[str, set[str]] = {}
    for name, session_id in rows(settings(folder), EVENTS, "name", "session_id"):
        actual.setdefault(session_id, set()).add(name)
    return sorted(actual.values(), key=lambda names: min(map(float, names)))


def test_events_less_than_half_an_hour_apart_are_one_session(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, at(0, 29.99, 59.98), at(90, 119))])

    assert sessions(tmp_path) == [{"0", "29.99", "59.98"}, {"90", "119"}]


def test_a_session_goes_on_in_later_batches_and_workers(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, at(0))])
    writer.write([a_message(1, at(20))])
    a_writer(tmp_path).write([a_message(2, at(40, received_ms=NOON_MS + 2 * HOUR_MS))])
    writer.write([a_message(3, at(60))])

    assert sessions(tmp_path) == [{"0", "20", "40", "60"}]


def test_a_late_event_joins_the_nearest_session(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, at(0), at(50))])
    a_writer(tmp_path).write([a_message(1, at(29), at(10), at(110))])

    assert sessions(tmp_path) == [{"0", "10"}, {"29", "50"}, {"110"}]


def test_sessions_received_long_ago_are_not_joined(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, at(0))])
    writer.write([a_message(1, at(1, received_ms=NOON_MS + 3 * HOUR_MS))])

    assert sessions(tmp_path) == [{"0"}, {"1"}]


def test_visitors_and_websites_have_sessions_of_their_own(tmp_path: Path) -> None:
    batch = [a_message(0, at(0), at(1, visitor="ben"), at(2, subject_id="w2"))]

    a_writer(tmp_path).write(batch)

    assert sessions(tmp_path) == [{"0"}, {"1"}, {"2"}]


def test_a_session_of_the_tracker_is_kept_and_derived_ones_are_marked(tmp_path: Path) -> None:
    config = [{"name": "a", "anonymousId": "ann", "sessionId": "s1"}]

    a_writer(tmp_path).write([a_message(0, an_envelope(config), at(120))])

    actual = rows(settings(tmp_path), EVENTS, "name", "session_id", "session_hash", "session_made")
    assert actual[1] == ("a", "s1", hash63("s1"), False)
    name, session_id, session_hash, made = actual[0]
    assert (name, session_id[:4], len(session_id), made) == ("120", "gap_", 20, True)
    assert session_hash == hash63(session_id)


def test_an_item_without_a_visitor_id_gets_the_collectors(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, day("d1", 0, 5))])

    columns = ("name", "anonymous_id", "visitor_hash", "visitor_made", "session_made")
    assert rows(settings(tmp_path), EVENTS, *columns) == [
        ("0", "d1", hash63("d1"), True, True),
        ("5", "d1", hash63("d1"), True, True),
    ]
    assert sessions(tmp_path) == [{"0", "5"}]


def day(name: str, *minutes: float) -> Envelope:
    """Events without a visitor, in an envelope with the collector's visitor."""
    envelope = at(*minutes, visitor=None)
    return an_envelope(envelope.items, count=len(minutes), anonymous_id=name)


def test_an_event_without_a_visitor_has_no_session(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, at(0, visitor=None))])

    columns = ("anonymous_id", "visitor_hash", "visitor_made", "session_id", "session_made")
    assert rows(settings(tmp_path), EVENTS, *columns) == [(None, None, False, None, False)]


def test_a_bot_has_no_session(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, at(0, user_agent="Googlebot/2.1"))])

    assert rows(settings(tmp_path), EVENTS, "is_bot", "session_id") == [(True, None)]


def test_errors_have_the_same_visitor_and_no_session(tmp_path: Path) -> None:
    body = [{"message": "x is undefined"}]
    writer = BatchWriter(settings(tmp_path), ERROR_REPORT, Lookups())

    writer.write([a_message(0, an_envelope(body, anonymous_id="d1"))])

    columns = ("anonymous_id", "visitor_hash", "visitor_made", "session_id")
    assert rows(settings(tmp_path), ERRORS, *columns) == [("d1", hash63("d1"), True, None)]


def test_a_duplicate_extends_no_session(tmp_path: Path) -> None:
    def clicked(received_ms: int) -> Envelope:
        item = {"name": str(received_ms - NOON_MS), "anonymousId": "ann", "eventId": "1"}
        return an_envelope([item], received_ms=received_ms)

    writer = a_writer(tmp_path)
    writer.write([a_message(0, clicked(NOON_MS)), a_message(1, clicked(NOON_MS + 20 * MINUTE_MS))])
    writer.write([a_message(2, at(160, received_ms=NOON_MS + HOUR_MS))])

    assert sessions(tmp_path) == [{"0"}, {"160"}]


def test_the_sessions_of_a_visitor_in_memory_are_bounded() -> None:
    spans: SessionSpans = ()
    for at_ms in range(100):
        spans = extended(spans, f"s{at_ms}", 0, at_ms, at_ms)

    assert [span.session_id for span in spans] == [f"s{at_ms}" for at_ms in range(36, 100)]


def test_beyond_the_limit_the_website_with_most_spans_loses_its_oldest(tmp_path: Path) -> None:
    spilled = SessionSpill(tmp_path, max_spans=8)
    for hour, visitors in enumerate(((1, 2, 3), (4, 5, 6), (7, 8))):
        spans = {("big", v): (SessionSpan(derived_session_id(v), hour, v, v),) for v in visitors}
        spilled.spill(spans.items())
    spilled.spill({("small", 1): (SessionSpan(derived_session_id(1), 0, 1, 1),)}.items())

    everybody = [("small", 1), *(("big", v) for v in range(1, 9))]
    assert sorted(spilled.find(everybody)) == [*(("big", v) for v in (4, 5, 6, 7, 8)), ("small", 1)]


def test_forged_events_do_not_split_the_sessions_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_spans, "MAX_SPANS_IN_MEMORY", 100)
    writer = a_writer(tmp_path)
    writer.write([a_message(0, at(0, visitor="ann"), at(0, visitor="own", subject_id="w2"))])
    for offset in range(1, 11):
        made_up = [
            {"name": "0", "anonymousId": f"{offset}-{n}", "timestamp": NOON_MS - 2 * HOUR_MS}
            for n in range(200)
        ]
        writer.write([a_message(offset, an_envelope(made_up, subject_id="w2"))])
    again = [at(20, visitor="ann"), at(20, visitor="own", subject_id="w2")]
    writer.write([a_message(11, *again, at(20, visitor="1-7", subject_id="w2"))])

    actual = rows(settings(tmp_path), EVENTS, "anonymous_id", "session_id")
    assert len(actual) == 2005
    assert len(set(actual)) == 2002
