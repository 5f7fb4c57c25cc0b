"""Sessions of visitors whose tracker names none: events less than 30 minutes apart, in event time.

An event joins the session that has an event less than 30 minutes from it; the nearest, where there
are several. Else it begins one. What it may join are events that lie before it in its topic
partition and were received in the same hour or the two before. So late and unordered events find
their session, and whoever reads an event again finds the same. Programs get no sessions.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import hash63
from stream.state.memory_budget import max_min_share
from stream.state.partition_state import PartitionStates
from stream.state.session_spans import (
    HOUR_MS,
    WINDOW_HOURS,
    SessionSpans,
    VisitorKey,
    extended,
    nearest,
)
from stream.state.session_spill import SessionSpill, derived_session_id
from stream.state.table_scan import PARTITION, RECEIVED_AT, scan_recent_rows, to_unix_ms
from stream.storage.delta_commit import LakeTable, OffsetUpdate

SLACK_HOURS = 1
MAX_SPANS_IN_MEMORY = 50_000
"""How many sessions by hour are in memory for one topic partition; what is more is spilled."""

DERIVED_COLUMN, SESSION_ID, SESSION_HASH = "session_made", "session_id", "session_hash"
EVENT_COLUMNS = ("visitor_hash", PARTITION, "kafka_offset", "seq", "ts", RECEIVED_AT)
"""What is asked of an event without a session, besides whose it is."""


class VisitorSpans:
    """The sessions of one topic partition's visitors: of some in memory, of the others in files.

    A website has a fair share of the memory. Who has more than that is spilled, the longest unseen
    first, so that nobody is slower for the visitors that another one makes up.
    """

    def __init__(self, folder: Path) -> None:
        self.spilled = SessionSpill(folder)
        self.websites: dict[str, dict[int, SessionSpans]] = {}
        """By hash of the visitor; the first are those longest unseen."""
        self._sizes: dict[str, int] = {}
        """Spans in memory, by website."""

    def of(self, visitor: VisitorKey) -> SessionSpans | None:
        """What is in memory of a visitor."""
        website, visitor_hash = visitor
        known = self.websites.get(website)
        return known.get(visitor_hash) if known else None

    def load_spilled(self, visitors: Iterable[VisitorKey]) -> Mapping[VisitorKey, SessionSpans]:
        """What is in files of those who are not in memory."""
        if not len(self.spilled):
            return {}
        return self.spilled.find([v for v in dict.fromkeys(visitors) if self.of(v) is None])

    def update(self, changed: Mapping[VisitorKey, SessionSpans]) -> None:
        """The sessions of these visitors are these."""
        for (website, visitor_hash), spans in changed.items():
            known = self.websites.setdefault(website, {})
            before = known.pop(visitor_hash, ())
            known[visitor_hash] = spans
            self._sizes[website] = self._sizes.get(website, 0) + len(spans) - len(before)
        if sum(self._sizes.values()) > MAX_SPANS_IN_MEMORY:
            share = max_min_share(self._sizes.values(), MAX_SPANS_IN_MEMORY * 3 // 4)
            self.spilled.spill(list(self._evict(share)))

    def expire(self, before: int) -> None:
        """Drop what was received before this hour."""
        self.spilled.forget(before)
        for website, known in list(self.websites.items()):
            left = {
                visitor_hash: tuple([span for span in spans if span.hour >= before])
                for visitor_hash, spans in known.items()
            }
            self.websites[website] = {visitor: spans for visitor, spans in left.items() if spans}
            self._sizes[website] = sum(map(len, left.values()))
            if not self._sizes[website]:
                del self.websites[website], self._sizes[website]

    def _evict(self, share: int) -> Iterator[tuple[VisitorKey, SessionSpans]]:
        """Take from memory what a website has beyond its share."""
        for website, known in self.websites.items():
            # Listed: to look for the first of a dict again and again takes ever longer.
            for visitor_hash in list(known) if self._sizes[website] > share else ():
                if self._sizes[website] <= share:
                    break
                spans = known.pop(visitor_hash)
                self._sizes[website] -= len(spans)
                yield (website, visitor_hash), spans


class SessionlessEvent(Struct, frozen=True, gc=False):
    """An event without a session."""

    visitor: VisitorKey
    ms: int
    hour: int
    partition: int
    offset: int
    seq: int

    def new_session(self) -> str:
        """An id that this event alone can give."""
        said = (*self.visitor, self.partition, self.offset, self.seq, self.hour)
        return derived_session_id(hash63(repr(said)))


class SessionAssignment:
    """The sessions of some visitors of one topic partition while a batch is worked on."""

    def __init__(self, visits: VisitorSpans, visitors: Iterable[VisitorKey]) -> None:
        self._visits = visits
        self._loaded = visits.load_spilled(visitors)
        self.changed: dict[VisitorKey, SessionSpans] = {}

    def session(self, visit: SessionlessEvent) -> str:
        """The session of an event, which from now on belongs to it."""
        known = self._spans(visit.visitor)
        session_id = nearest(known, visit.ms, visit.hour) or visit.new_session()
        self.changed[visit.visitor] = extended(known, session_id, visit.hour, visit.ms, visit.ms)
        return session_id

    def add(self, made: "DerivedSessionEvent") -> None:
        """An event that has its session already."""
        known = self._spans(made.visitor)
        self.changed[made.visitor] = extended(known, made.session_id, made.hour, made.ms, made.ms)

    def commit(self) -> None:
        self._visits.update(self.changed)

    def _spans(self, visitor: VisitorKey) -> SessionSpans:
        known = self.changed.get(visitor) or self._visits.of(visitor)
        return known or self._loaded.get(visitor, ())


class SessionizedBatch(Struct, frozen=True):
    """A batch whose events have their sessions."""

    rows: pa.Table
    assignments: Mapping[int, SessionAssignment] = {}
    hours: Mapping[int, int] = {}
    """First hour of receipt, by topic partition."""


class Sessionizer:
    """The sessions of one table's topic partitions."""

    def __init__(self, table: LakeTable, topic: str, folder: Path) -> None:
        """Spilled into the folder."""
        self._table = table
        self._folder = folder
        self.state: PartitionStates[VisitorSpans] = PartitionStates(f"sessions of {topic}")

    def assign_sessions(self, rows: pa.Table, next_of: Callable[[int], int]) -> SessionizedBatch:
        """Give sessions to the events without; nothing is remembered before `learn`."""
        without = _lacks_session(rows)
        # Of few columns: the others may be large.
        events = rows.select([self._table.table.subject_column, *EVENT_COLUMNS]).filter(without)
        if not events.num_rows:
            return SessionizedBatch(rows)
        visits = list(_sessionless_events(events, self._table.table.subject_column))
        hours: dict[int, int] = {}
        visitors: dict[int, list[VisitorKey]] = {}
        for visit in visits:
            hours[visit.partition] = min(hours.get(visit.partition, visit.hour), visit.hour)
            visitors.setdefault(visit.partition, []).append(visit.visitor)
        sinces = {partition: hour - WINDOW_HOURS for partition, hour in hours.items()}
        known = self.state.get(sinces, next_of, self._scan)
        joinings = {p: SessionAssignment(found, visitors[p]) for p, found in known.items()}
        ids = [joinings[visit.partition].session(visit) for visit in visits]
        return SessionizedBatch(_with_sessions(rows, without, ids), joinings, hours)

    def commit(self, given: SessionizedBatch, moves: Mapping[int, OffsetUpdate]) -> None:
        """The batch was committed."""
        for partition, joining in given.assignments.items():
            joining.commit()
            self.state.expire(
                partition, given.hours[partition] - WINDOW_HOURS - SLACK_HOURS, VisitorSpans.expire
            )
        self.state.advance(moves)

    def _scan(self, partitions: Collection[int], since: int) -> Mapping[int, VisitorSpans]:
        found = {partition: VisitorSpans(self._folder) for partition in partitions}
        columns = [self._table.table.subject_column, "visitor_hash", SESSION_ID, "ts"]
        wanted = pc.field(DERIVED_COLUMN)
        for rows in scan_recent_rows(self._table, columns, wanted, partitions, since * HOUR_MS):
            self.state.files_scanned += 1
            made: dict[int, list[DerivedSessionEvent]] = {}
            for partition, event in _derived_events(rows, columns):
                made.setdefault(partition, []).append(event)
            for partition, events in made.items():
                joining = SessionAssignment(found[partition], [event.visitor for event in events])
                for event in events:
                    joining.add(event)
                joining.commit()
        return found


_numbers = GenerationalCache(hash63)


def _lacks_session(rows: pa.Table) -> pa.Array:
    """Which events are of a known visitor, of a person, and name no session."""
    known = pc.and_(pc.is_null(rows[SESSION_HASH]), pc.is_valid(rows["visitor_hash"]))
    return pc.and_not(known, pc.fill_null(rows["is_bot"], False)).combine_chunks()


def _sessionless_events(events: pa.Table, subject: str) -> Iterator[SessionlessEvent]:
    websites, hashes, *place = (
        events[name].to_pylist()
        for name in (subject, "visitor_hash", PARTITION, "kafka_offset", "seq")
    )
    times = to_unix_ms(events, "ts").to_pylist()
    hours = pc.divide(to_unix_ms(events, RECEIVED_AT), HOUR_MS).to_pylist()
    visitors = zip(websites, hashes, strict=True)
    return map(SessionlessEvent, visitors, times, hours, *place)


class DerivedSessionEvent(Struct, frozen=True, gc=False):
    """An event that was stored with a session of ours."""

    visitor: VisitorKey
    session_id: str
    hour: int
    ms: int


def _derived_events(
    rows: pa.RecordBatch, columns: list[str]
) -> Iterator[tuple[int, DerivedSessionEvent]]:
    """Topic partition and event of the rows."""
    subject, visitor, session, when = columns
    for partition, website, visitor_hash, session_id, ms, received_ms in zip(
        *(rows[name].to_pylist() for name in (PARTITION, subject, visitor, session)),
        to_unix_ms(rows, when).to_pylist(),
        to_unix_ms(rows, RECEIVED_AT).to_pylist(),
        strict=True,
    ):
        yield (
            partition,
            DerivedSessionEvent((website, visitor_hash), session_id, received_ms // HOUR_MS, ms),
        )


def _with_sessions(rows: pa.Table, without: pa.Array, ids: list[str]) -> pa.Table:
    hashes = pa.array([_numbers[session_id] for session_id in ids], pa.int64())
    for name, values in (
        (SESSION_ID, pa.array(ids)),
        (SESSION_HASH, hashes),
        (DERIVED_COLUMN, pa.scalar(True)),
    ):
        filled = pc.replace_with_mask(rows[name], without, values)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), filled)
    return rows
