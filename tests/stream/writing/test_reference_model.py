"""However batches are split, crashed and moved between workers: the rows are a reference's.

The reference reads the messages in order and keeps everything in memory. It decides which items are
duplicates, and which session an event belongs to, by the rules in the README.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from schemas.kinds import CUSTOM_EVENT
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.rules.hashes import hash63
from stream.enrich.rules.lookups import Lookups
from stream.state import session_spans
from stream.state.sessionizer import SessionlessEvent
from stream.writing.batch_writer import BatchWriter
from tests.stream import builders
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows
from tests.stream.writing.test_exactly_once import STEPS, PowerCut

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


class Sent(Struct, frozen=True):
    """One message with one item."""

    partition: int
    offset: int
    received_ms: int
    ms: int
    event_id: str | None
    visitor: str | None
    good: bool

    @property
    def place(self) -> tuple[int, int]:
        return self.partition, self.offset

    @property
    def body(self) -> dict[str, Any]:
        name: object = "x" if self.good else 7
        given = {"eventId": self.event_id, "anonymousId": self.visitor, "timestamp": self.ms}
        return {"name": name, **given}


@st.composite
def traffic(draw: st.DrawFn) -> list[Sent]:
    """Messages of two topic partitions; their clocks advance, stop, and sometimes go back."""
    received = {0: NOON_MS, 1: NOON_MS}
    nexts = {0: 0, 1: 0}
    sent = []
    for _ in range(draw(st.integers(1, 14))):
        partition = draw(st.integers(0, 1))
        hours = draw(st.sampled_from((0, 0, 0, 0, 0.2, 1, 2.5, 3, 12, 24, 30, -1, -40)))
        received[partition] += int(hours * HOUR_MS)
        late = draw(st.sampled_from((0, 0, 5, 20, 29, 31, 150, 180)))
        sent.append(
            Sent(
                partition,
                nexts[partition],
                received[partition],
                received[partition] - late * MINUTE_MS,
                draw(st.sampled_from(("a", "b", None))),
                draw(st.sampled_from(("ann", "ann", "ben", None))),
                draw(st.sampled_from((True, True, True, True, False))),
            )
        )
        nexts[partition] += 1
    return sent


def reference(sent: Sequence[Sent]) -> tuple[list[Sent], set[tuple[int, int]], list[set[Any]]]:
    """The stored items, the positions of duplicates, and the sessions as sets of positions."""
    stored: list[Sent] = []
    copies: set[tuple[int, int]] = set()
    sessions: list[tuple[Sent, list[Sent]]] = []
    for item in sorted(sent, key=lambda each: each.place):
        if not item.good:
            continue
        if any(is_copy(item, before) for before in stored):
            copies.add(item.place)
            continue
        stored.append(item)
        if item.visitor is None:
            continue
        near = [
            (distance, first, which)
            for which, (_, members) in enumerate(sessions)
            for distance, first in spans(item, members)
            if distance < 30 * MINUTE_MS
        ]
        if near:
            sessions[best(near, sessions)][1].append(item)
        else:
            sessions.append((item, [item]))
    return stored, copies, [{member.place for member in members} for _, members in sessions]


def is_copy(item: Sent, before: Sent) -> bool:
    """Same id and topic partition, in its bucket of three hours or one of the eight before it."""
    bucket = 3 * HOUR_MS
    near = before.received_ms // bucket >= item.received_ms // bucket - 8
    return (
        item.event_id is not None
        and (before.event_id, before.partition) == (item.event_id, item.partition)
        and near
    )


def spans(item: Sent, members: Sequence[Sent]) -> Iterator[tuple[int, int]]:
    """Distance and first time of the session's events, by each of the last hours of receipt."""
    if (members[0].partition, members[0].visitor) != (item.partition, item.visitor):
        return
    hour = item.received_ms // HOUR_MS
    for each in {m.received_ms // HOUR_MS for m in members}:
        if each >= hour - 2:
            times = [m.ms for m in members if m.received_ms // HOUR_MS == each]
            yield max(min(times) - item.ms, item.ms - max(times), 0), min(times)


def best(near: list[tuple[int, int, int]], sessions: list[tuple[Sent, list[Sent]]]) -> int:
    """The nearest; then the one that begins first; then by its id."""
    distance, first, _ = min(near)
    tied = [which for d, f, which in near if (d, f) == (distance, first)]
    return min(tied, key=lambda which: name_of(sessions[which][0]))


def name_of(first: Sent) -> str:
    assert first.visitor is not None
    visitor = ("w1", hash63(first.visitor))
    hour = first.received_ms // HOUR_MS
    return SessionlessEvent(visitor, first.ms, hour, first.partition, first.offset, 0).new_session()


class Workers:
    """Two workers that are crashed and handed the messages as hypothesis says."""

    def __init__(self, folder: Path, data: st.DataObject) -> None:
        self._settings = builders.settings(folder)
        self._data = data
        self._dies_after = ""
        self._workers = [self._born(), self._born()]

    def _born(self) -> BatchWriter:
        return BatchWriter(self._settings, CUSTOM_EVENT, Lookups(), self._on_step)

    def _on_step(self, step: str) -> None:
        if step == self._dies_after:
            raise PowerCut(step)

    def work_off(self, sent: Sequence[Sent]) -> None:
        nexts = {0: 0, 1: 0}
        while waiting := [each for each in sent if each.offset >= nexts[each.partition]]:
            which = self._data.draw(st.integers(0, 1), label="worker")
            batch = waiting[: self._data.draw(st.integers(1, 4), label="batch")]
            steps = st.sampled_from(("",) * 10 + STEPS)
            self._dies_after = self._data.draw(steps, label="dies after")
            try:
                self._workers[which].write([arrived(each) for each in batch])
            except PowerCut:
                self._workers[which] = self._born()
            nexts = self._workers[which].assign_partitions([0, 1])


def arrived(sent: Sent) -> Any:
    envelope = an_envelope([sent.body], received_ms=sent.received_ms)
    return a_message(sent.offset, envelope, partition=sent.partition)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
@given(sent=traffic(), data=st.data())
def test_split_crashed_and_moved_batches_give_the_rows_of_the_reference(
    sent: list[Sent], data: st.DataObject
) -> None:
    room = data.draw(
        st.sampled_from((1, 3, session_spans.MAX_SPANS_IN_MEMORY)), label="spans in memory"
    )
    with (
        tempfile.TemporaryDirectory() as name,
        patch.object(session_spans, "MAX_SPANS_IN_MEMORY", room),
    ):
        folder = Path(name)
        Workers(folder, data).work_off(sent)
        config = builders.settings(folder)
        stored, copies, sessions = reference(sent)
        position = ("kafka_partition", "kafka_offset")

        assert rows(config, EVENTS, *position) == [item.place for item in sorted_places(stored)]
        noted = rows(config, QUARANTINE, "stage", *position)
        assert {(p, o) for stage, p, o in noted if stage == "duplicate"} == copies
        assert len(noted) == len(copies) + sum(not item.good for item in sent)
        assert sessions_of(config) == sorted(map(sorted, sessions))
        assert account(config) == (
            len(sent),
            len(stored),
            len(copies),
            sum(not item.good for item in sent),
        )


def sorted_places(stored: Sequence[Sent]) -> list[Sent]:
    return sorted(stored, key=lambda item: item.place)


def sessions_of(config: Any) -> list[list[tuple[int, int]]]:
    """Places of the events of each session."""
    found: dict[str, list[tuple[int, int]]] = {}
    columns = ("session_id", "kafka_partition", "kafka_offset")
    for session_id, partition, offset in rows(config, EVENTS, *columns):
        if session_id is not None:
            found.setdefault(session_id, []).append((partition, offset))
    return sorted(sorted(places) for places in found.values())


def account(config: Any) -> tuple[int, ...]:
    columns = ("received", "stored", "duplicate", "quarantined")
    return tuple(sum(column) for column in zip(*rows(config, LEDGER, *columns), strict=True))
