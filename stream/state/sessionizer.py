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

from stream.enrich.rules.lookups import Memo
from stream.enrich.steps.identity import number
from stream.state.max_min_shares import fair_share
from stream.state.partition_state import Memory
from stream.state.session_spans import HOUR_MS, WINDOW, Spans, Visitor, extended, nearest
from stream.state.session_spill import SpilledSpans, made_id
from stream.state.table_scan import PARTITION, RECEIVED, milliseconds, read_back
from stream.storage.delta_commit import LakeTable, Move

SLACK = 1
SPANS = 50_000
"""How many sessions by hour are in memory for one topic partition; what is more is spilled."""

MADE, SESSION, HASH = "session_made", "session_id", "session_hash"
ASKED = ("visitor_hash", PARTITION, "kafka_offset", "seq", "ts", RECEIVED)
"""What is asked of an event without a session, besides whose it is."""


class Visits:
    """The sessions of one topic partition's visitors: of some in memory, of the others in files.

    A website has a fair share of the memory. Who has more than that is spilled, the longest unseen
    first, so that nobody is slower for the visitors that another one makes up.
    """

    def __init__(self, folder: Path) -> None:
        self.spilled = SpilledSpans(folder)
        self.websites: dict[str, dict[int, Spans]] = {}
        """By hash of the visitor; the first are those longest unseen."""
        self._sizes: dict[str, int] = {}
        """Spans in memory, by website."""

    def of(self, visitor: Visitor) -> Spans | None:
        """What is in memory of a visitor."""
        website, visitor_hash = visitor
        known = self.websites.get(website)
        return known.get(visitor_hash) if known else None

    def recall(self, visitors: Iterable[Visitor]) -> Mapping[Visitor, Spans]:
        """What is in files of those who are not in memory."""
        if not len(self.spilled):
            return {}
        return self.spilled.find([v for v in dict.fromkeys(visitors) if self.of(v) is None])

    def know(self, changed: Mapping[Visitor, Spans]) -> None:
        """The sessions of these visitors are these."""
        for (website, visitor_hash), spans in changed.items():
            known = self.websites.setdefault(website, {})
            before = known.pop(visitor_hash, ())
            known[visitor_hash] = spans
            self._sizes[website] = self._sizes.get(website, 0) + len(spans) - len(before)
        if sum(self._sizes.values()) > SPANS:
            share = fair_share(self._sizes.values(), SPANS * 3 // 4)
            self.spilled.spill(list(self._beyond(share)))

    def forget(self, before: int) -> None:
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

    def _beyond(self, share: int) -> Iterator[tuple[Visitor, Spans]]:
        """Take from memory what a website has beyond its share."""
        for website, known in self.websites.items():
            # Listed: to look for the first of a dict again and again takes ever longer.
            for visitor_hash in list(known) if self._sizes[website] > share else ():
                if self._sizes[website] <= share:
                    break
                spans = known.pop(visitor_hash)
                self._sizes[website] -= len(spans)
                yield (website, visitor_hash), spans


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
        return made_id(number(repr(said)))


class Joining:
    """The sessions of some visitors of one topic partition while a batch is worked on."""

    def __init__(self, visits: Visits, visitors: Iterable[Visitor]) -> None:
        self._visits = visits
        self._recalled = visits.recall(visitors)
        self.changed: dict[Visitor, Spans] = {}

    def session(self, visit: Visit) -> str:
        """The session of an event, which from now on belongs to it."""
        known = self._spans(visit.visitor)
        session_id = nearest(known, visit.ms, visit.hour) or visit.new_session()
        self.changed[visit.visitor] = extended(known, session_id, visit.hour, visit.ms, visit.ms)
        return session_id

    def add(self, made: "Made") -> None:
        """An event that has its session already."""
        known = self._spans(made.visitor)
        self.changed[made.visitor] = extended(known, made.session_id, made.hour, made.ms, made.ms)

    def keep(self) -> None:
        self._visits.know(self.changed)

    def _spans(self, visitor: Visitor) -> Spans:
        known = self.changed.get(visitor) or self._visits.of(visitor)
        return known or self._recalled.get(visitor, ())


class Given(Struct, frozen=True):
    """A batch whose events have their sessions."""

    rows: pa.Table
    joinings: Mapping[int, Joining] = {}
    hours: Mapping[int, int] = {}
    """First hour of receipt, by topic partition."""


class Sessions:
    """The sessions of one table's topic partitions."""

    def __init__(self, table: LakeTable, topic: str, folder: Path) -> None:
        """Spilled into the folder."""
        self._table = table
        self._folder = folder
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
        visitors: dict[int, list[Visitor]] = {}
        for visit in visits:
            hours[visit.partition] = min(hours.get(visit.partition, visit.hour), visit.hour)
            visitors.setdefault(visit.partition, []).append(visit.visitor)
        sinces = {partition: hour - WINDOW for partition, hour in hours.items()}
        known = self.memory.recall(sinces, next_of, self._read)
        joinings = {p: Joining(found, visitors[p]) for p, found in known.items()}
        ids = [joinings[visit.partition].session(visit) for visit in visits]
        return Given(_with_sessions(rows, without, ids), joinings, hours)

    def learn(self, given: Given, moves: Mapping[int, Move]) -> None:
        """The batch was committed."""
        for partition, joining in given.joinings.items():
            joining.keep()
            self.memory.forget(partition, given.hours[partition] - WINDOW - SLACK, Visits.forget)
        self.memory.advance(moves)

    def _read(self, partitions: Collection[int], since: int) -> Mapping[int, Visits]:
        found = {partition: Visits(self._folder) for partition in partitions}
        columns = [self._table.table.subject, "visitor_hash", SESSION, "ts"]
        wanted = pc.field(MADE)
        for rows in read_back(self._table, columns, wanted, partitions, since * HOUR_MS):
            self.memory.pieces += 1
            made: dict[int, list[Made]] = {}
            for partition, event in _made(rows, columns):
                made.setdefault(partition, []).append(event)
            for partition, events in made.items():
                joining = Joining(found[partition], [event.visitor for event in events])
                for event in events:
                    joining.add(event)
                joining.keep()
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


class Made(Struct, frozen=True, gc=False):
    """An event that was stored with a session of ours."""

    visitor: Visitor
    session_id: str
    hour: int
    ms: int


def _made(rows: pa.RecordBatch, columns: list[str]) -> Iterator[tuple[int, Made]]:
    """Topic partition and event of the rows."""
    subject, visitor, session, when = columns
    for partition, website, visitor_hash, session_id, ms, received_ms in zip(
        *(rows[name].to_pylist() for name in (PARTITION, subject, visitor, session)),
        milliseconds(rows, when).to_pylist(),
        milliseconds(rows, RECEIVED).to_pylist(),
        strict=True,
    ):
        yield partition, Made((website, visitor_hash), session_id, received_ms // HOUR_MS, ms)


def _with_sessions(rows: pa.Table, without: pa.Array, ids: list[str]) -> pa.Table:
    hashes = pa.array([_numbers[session_id] for session_id in ids], pa.int64())
    for name, values in ((SESSION, pa.array(ids)), (HASH, hashes), (MADE, pa.scalar(True))):
        filled = pc.replace_with_mask(rows[name], without, values)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), filled)
    return rows
