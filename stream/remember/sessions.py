"""Sessions of visitors whose tracker names none: events less than 30 minutes apart, in event time.

An event joins the session that has an event less than 30 minutes from it; the nearest, where there
are several. Else it begins one. What it may join are events that lie before it in its topic
partition and were received in the same hour or the two before. So late and unordered events find
their session, and whoever reads an event again finds the same. Programs get no sessions.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.commit import LakeTable, Move
from stream.enrich.identity import number
from stream.enrich.lookups import Memo
from stream.remember.memory import Memory
from stream.remember.reading import PARTITION, RECEIVED, milliseconds, read_back

GAP_MS = 30 * 60_000
HOUR_MS = 3_600_000
WINDOW = 2
"""Hours before its own in which what an event joins may have been received."""
SLACK = 1
VISITORS = 100_000
"""How many are known in one topic partition at most; the longest unseen are forgotten first."""
SPANS = 2 * VISITORS
"""And how many sessions of theirs, by hour."""
OWN_SPANS = 64
"""And of one visitor: nobody has more, but for who makes up times to begin one with each event."""

MADE, SESSION, HASH = "session_made", "session_id", "session_hash"
ASKED = ("visitor_hash", PARTITION, "kafka_offset", "seq", "ts", RECEIVED)
"""What is asked of an event without a session, besides whose it is."""
Visitor = tuple[str, int]
"""Website and hash of the visitor."""


class Span(Struct, frozen=True, gc=False):
    """First and last event that one session received in one hour."""

    session_id: str
    hour: int
    first: int
    last: int

    def distance(self, ms: int) -> int:
        return max(self.first - ms, ms - self.last, 0)

    def stretched(self, first: int, last: int) -> "Span":
        if self.first <= first and last <= self.last:
            return self
        return Span(self.session_id, self.hour, min(self.first, first), max(self.last, last))


Spans = tuple[Span, ...]


class Visits:
    """The sessions of one topic partition's visitors."""

    def __init__(self) -> None:
        self.visitors: dict[Visitor, Spans] = {}
        self.spans = 0
        """Of all visitors."""

    def know(self, visitor: Visitor, spans: Spans) -> None:
        """The visitor's sessions are these."""
        # To the end: the first are those longest unseen.
        self.spans += len(spans) - len(self.visitors.pop(visitor, ()))
        self.visitors[visitor] = spans
        if len(self.visitors) > VISITORS or self.spans > SPANS:
            for unseen in list(islice(self.visitors, len(self.visitors) // 4)):
                self.spans -= len(self.visitors.pop(unseen))

    def forget(self, before: int) -> None:
        """Drop what was received before this hour."""
        left = {
            visitor: tuple([span for span in spans if span.hour >= before])
            for visitor, spans in self.visitors.items()
        }
        self.visitors = {visitor: spans for visitor, spans in left.items() if spans}
        self.spans = sum(map(len, self.visitors.values()))


class Visit(Struct, frozen=True, gc=False):
    """An event without a session."""

    visitor: Visitor
    ms: int
    hour: int
    partition: int
    offset: int
    seq: int

    def new_session(self) -> str:
        """An id that this event alone can give."""
        said = (*self.visitor, self.partition, self.offset, self.seq, self.hour)
        return f"gap_{number(repr(said)):016x}"


class Joining:
    """The sessions of one topic partition while a batch is worked on."""

    def __init__(self, visits: Visits) -> None:
        self._visits = visits
        self.changed: dict[Visitor, Spans] = {}

    def session(self, visit: Visit) -> str:
        """The session of an event, which from now on belongs to it."""
        visitor, ms, hour = visit.visitor, visit.ms, visit.hour
        spans = self.changed.get(visitor) or self._visits.visitors.get(visitor, ())
        session_id = nearest(spans, ms, hour) or visit.new_session()
        self.changed[visitor] = extended(spans, session_id, hour, ms, ms)
        return session_id

    def keep(self) -> None:
        for visitor, spans in self.changed.items():
            self._visits.know(visitor, spans)


def nearest(spans: Spans, ms: int, hour: int) -> str | None:
    """The session that an event of this time joins; None when all are too far."""
    near = [
        (distance, span.first, span.session_id)
        for span in spans
        if span.hour >= hour - WINDOW and (distance := span.distance(ms)) < GAP_MS
    ]
    return min(near)[2] if near else None


def extended(spans: Spans, session_id: str, hour: int, first: int, last: int) -> Spans:
    """The same, and the session received events of this time in this hour."""
    for index, span in enumerate(spans):
        if span.hour == hour and span.session_id == session_id:
            return (*spans[:index], span.stretched(first, last), *spans[index + 1 :])
    return (*spans[-(OWN_SPANS - 1) :], Span(session_id, hour, first, last))


class Given(Struct, frozen=True):
    """A batch whose events have their sessions."""

    rows: pa.Table
    joinings: Mapping[int, Joining] = {}
    hours: Mapping[int, int] = {}
    """First hour of receipt, by topic partition."""


class Sessions:
    """The sessions of one table's topic partitions."""

    def __init__(self, table: LakeTable, topic: str) -> None:
        self._table = table
        self.memory: Memory[Visits] = Memory(f"sessions of {topic}")

    def give(self, rows: pa.Table, next_of: Callable[[int], int]) -> Given:
        """Give sessions to the events without; nothing is remembered before `learn`."""
        without = _without(rows)
        # Of few columns: the others may be large.
        events = rows.select([self._table.table.subject, *ASKED]).filter(without)
        if not events.num_rows:
            return Given(rows)
        visits = list(_visits(events, self._table.table.subject))
        hours: dict[int, int] = {}
        for visit in visits:
            hours[visit.partition] = min(hours.get(visit.partition, visit.hour), visit.hour)
        sinces = {partition: hour - WINDOW for partition, hour in hours.items()}
        known = self.memory.recall(sinces, next_of, self._read)
        joinings = {partition: Joining(visits) for partition, visits in known.items()}
        ids = [joinings[visit.partition].session(visit) for visit in visits]
        return Given(_with_sessions(rows, without, ids), joinings, hours)

    def learn(self, given: Given, moves: Mapping[int, Move]) -> None:
        """The batch was committed."""
        for partition, joining in given.joinings.items():
            joining.keep()
            self.memory.forget(partition, given.hours[partition] - WINDOW - SLACK, Visits.forget)
        self.memory.advance(moves)

    def _read(self, partitions: Collection[int], since: int) -> Mapping[int, Visits]:
        found = {partition: Visits() for partition in partitions}
        columns = [self._table.table.subject, "visitor_hash", SESSION, "ts"]
        wanted = pc.field(MADE)
        for rows in read_back(self._table, columns, wanted, partitions, since * HOUR_MS):
            self.memory.pieces += 1
            for partition, visitor, session_id, hour, ms in _made(rows, columns):
                spans = found[partition].visitors.get(visitor, ())
                found[partition].know(visitor, extended(spans, session_id, hour, ms, ms))
        return found


_numbers = Memo(number)


def _without(rows: pa.Table) -> pa.Array:
    """Which events are of a known visitor, of a person, and name no session."""
    known = pc.and_(pc.is_null(rows[HASH]), pc.is_valid(rows["visitor_hash"]))
    return pc.and_not(known, pc.fill_null(rows["is_bot"], False)).combine_chunks()


def _visits(events: pa.Table, subject: str) -> Iterator[Visit]:
    websites, hashes, *place = (
        events[name].to_pylist()
        for name in (subject, "visitor_hash", PARTITION, "kafka_offset", "seq")
    )
    times = milliseconds(events, "ts").to_pylist()
    hours = pc.divide(milliseconds(events, RECEIVED), HOUR_MS).to_pylist()
    visitors = zip(websites, hashes, strict=True)
    return map(Visit, visitors, times, hours, *place)


def _made(rows: pa.RecordBatch, columns: list[str]) -> Iterator[tuple[int, Visitor, str, int, int]]:
    """Events with a session that was made here."""
    subject, visitor, session, when = columns
    for partition, website, visitor_hash, session_id, ms, received_ms in zip(
        *(rows[name].to_pylist() for name in (PARTITION, subject, visitor, session)),
        milliseconds(rows, when).to_pylist(),
        milliseconds(rows, RECEIVED).to_pylist(),
        strict=True,
    ):
        yield partition, (website, visitor_hash), session_id, received_ms // HOUR_MS, ms


def _with_sessions(rows: pa.Table, without: pa.Array, ids: list[str]) -> pa.Table:
    hashes = pa.array([_numbers[session_id] for session_id in ids], pa.int64())
    for name, values in ((SESSION, pa.array(ids)), (HASH, hashes), (MADE, pa.scalar(True))):
        filled = pc.replace_with_mask(rows[name], without, values)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), filled)
    return rows
