"""Assigns sessions by a 30-minute timeout to events whose tracker names none.

An event joins the session that has an event less than 30 minutes from it in event time, the nearest
one where there are several; otherwise it begins a session. It may join events at lower offsets of
its topic partition that were received in the same hour or the two before. So late and unordered
events find their session, and a replay finds the same one. Bots get no sessions.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import hash63
from stream.state.partition_state import PartitionStates
from stream.state.session_spans import (
    HOUR_MS,
    WINDOW_HOURS,
    SessionSpans,
    VisitorKey,
    VisitorSpans,
    derived_session_id,
    extended,
    nearest,
)
from stream.state.table_scan import PARTITION, RECEIVED_AT, scan_recent_rows, to_unix_ms
from stream.storage.delta_commit import LakeTable, OffsetUpdate

SLACK_HOURS = 1

DERIVED_COLUMN, SESSION_ID, SESSION_HASH = "session_made", "session_id", "session_hash"
EVENT_COLUMNS = ("visitor_hash", PARTITION, "kafka_offset", "seq", "ts", RECEIVED_AT)
"""Columns of an event without a session that are needed, besides its subject."""


class SessionlessEvent(Struct, frozen=True, gc=False):
    """An event that has no session yet."""

    visitor: VisitorKey
    ms: int
    hour: int
    partition: int
    offset: int
    seq: int

    def new_session(self) -> str:
        """The id of a session that this event begins, derived from the event's row key."""
        key = (*self.visitor, self.partition, self.offset, self.seq, self.hour)
        return derived_session_id(hash63(repr(key)))


class SessionAssignment:
    """The sessions of some visitors of one topic partition during a batch."""

    def __init__(self, visitor_spans: VisitorSpans, visitors: Iterable[VisitorKey]) -> None:
        self._visitor_spans = visitor_spans
        self._loaded = visitor_spans.load_spilled(visitors)
        self.changed: dict[VisitorKey, SessionSpans] = {}

    def session(self, event: SessionlessEvent) -> str:
        """Assign an event to a session; returns its id."""
        spans = self._spans(event.visitor)
        session_id = nearest(spans, event.ms, event.hour) or event.new_session()
        self.changed[event.visitor] = extended(spans, session_id, event.hour, event.ms, event.ms)
        return session_id

    def add(self, event: "DerivedSessionEvent") -> None:
        """Add a stored event that has its session already."""
        spans = self._spans(event.visitor)
        self.changed[event.visitor] = extended(
            spans, event.session_id, event.hour, event.ms, event.ms
        )

    def commit(self) -> None:
        self._visitor_spans.update(self.changed)

    def _spans(self, visitor: VisitorKey) -> SessionSpans:
        spans = self.changed.get(visitor) or self._visitor_spans.of(visitor)
        return spans or self._loaded.get(visitor, ())


class SessionizedBatch(Struct, frozen=True):
    """A batch with a session for each event of a visitor."""

    rows: pa.Table
    assignments: Mapping[int, SessionAssignment] = {}
    hours: Mapping[int, int] = {}
    """First hour of receipt in the batch, by topic partition."""


class Sessionizer:
    """Assigns sessions in the batches of one table; spills to `folder`."""

    def __init__(self, table: LakeTable, topic: str, folder: Path) -> None:
        self._table = table
        self._folder = folder
        self.state: PartitionStates[VisitorSpans] = PartitionStates(f"sessions of {topic}")

    def assign_sessions(
        self, rows: pa.Table, next_offset: Callable[[int], int]
    ) -> SessionizedBatch:
        """The batch with sessions for events that have none; the state changes by `commit` only."""
        lacks_session = _lacks_session(rows)
        # Few columns are filtered: the others may be large.
        events = rows.select([self._table.table.subject_column, *EVENT_COLUMNS]).filter(
            lacks_session
        )
        if not events.num_rows:
            return SessionizedBatch(rows)
        sessionless = list(_sessionless_events(events, self._table.table.subject_column))
        hours: dict[int, int] = {}
        visitors: dict[int, list[VisitorKey]] = {}
        for event in sessionless:
            hours[event.partition] = min(hours.get(event.partition, event.hour), event.hour)
            visitors.setdefault(event.partition, []).append(event.visitor)
        sinces = {partition: hour - WINDOW_HOURS for partition, hour in hours.items()}
        spans = self.state.get(sinces, next_offset, self._scan)
        assignments = {p: SessionAssignment(own, visitors[p]) for p, own in spans.items()}
        ids = [assignments[event.partition].session(event) for event in sessionless]
        return SessionizedBatch(_with_sessions(rows, lacks_session, ids), assignments, hours)

    def commit(self, batch: SessionizedBatch, offset_updates: Mapping[int, OffsetUpdate]) -> None:
        """Keep the sessions of a batch that was committed."""
        for partition, assignment in batch.assignments.items():
            assignment.commit()
            self.state.expire(
                partition, batch.hours[partition] - WINDOW_HOURS - SLACK_HOURS, VisitorSpans.expire
            )
        self.state.advance(offset_updates)

    def _scan(self, partitions: Collection[int], since: int) -> Mapping[int, VisitorSpans]:
        spans_by_partition = {partition: VisitorSpans(self._folder) for partition in partitions}
        columns = [self._table.table.subject_column, "visitor_hash", SESSION_ID, "ts"]
        condition = pc.field(DERIVED_COLUMN)
        for rows in scan_recent_rows(self._table, columns, condition, partitions, since * HOUR_MS):
            self.state.files_scanned += 1
            by_partition: dict[int, list[DerivedSessionEvent]] = {}
            for partition, event in _derived_events(rows, columns):
                by_partition.setdefault(partition, []).append(event)
            for partition, events in by_partition.items():
                assignment = SessionAssignment(
                    spans_by_partition[partition], [event.visitor for event in events]
                )
                for event in events:
                    assignment.add(event)
                assignment.commit()
        return spans_by_partition


_numbers = GenerationalCache(hash63)


def _lacks_session(rows: pa.Table) -> pa.Array:
    """Which events have a visitor and no session, and are not of a bot."""
    has_visitor_only = pc.and_(pc.is_null(rows[SESSION_HASH]), pc.is_valid(rows["visitor_hash"]))
    return pc.and_not(has_visitor_only, pc.fill_null(rows["is_bot"], False)).combine_chunks()


def _sessionless_events(events: pa.Table, subject: str) -> Iterator[SessionlessEvent]:
    websites, hashes, *position = (
        events[name].to_pylist()
        for name in (subject, "visitor_hash", PARTITION, "kafka_offset", "seq")
    )
    times = to_unix_ms(events, "ts").to_pylist()
    hours = pc.divide(to_unix_ms(events, RECEIVED_AT), HOUR_MS).to_pylist()
    visitors = zip(websites, hashes, strict=True)
    return map(SessionlessEvent, visitors, times, hours, *position)


class DerivedSessionEvent(Struct, frozen=True, gc=False):
    """An event that was stored with a derived session."""

    visitor: VisitorKey
    session_id: str
    hour: int
    ms: int


def _derived_events(
    rows: pa.RecordBatch, columns: list[str]
) -> Iterator[tuple[int, DerivedSessionEvent]]:
    """Partition and event of each row with a derived session."""
    subject, visitor, session, time = columns
    for partition, website, visitor_hash, session_id, ms, received_ms in zip(
        *(rows[name].to_pylist() for name in (PARTITION, subject, visitor, session)),
        to_unix_ms(rows, time).to_pylist(),
        to_unix_ms(rows, RECEIVED_AT).to_pylist(),
        strict=True,
    ):
        yield (
            partition,
            DerivedSessionEvent((website, visitor_hash), session_id, received_ms // HOUR_MS, ms),
        )


def _with_sessions(rows: pa.Table, lacks_session: pa.Array, ids: list[str]) -> pa.Table:
    hashes = pa.array([_numbers[session_id] for session_id in ids], pa.int64())
    for name, values in (
        (SESSION_ID, pa.array(ids)),
        (SESSION_HASH, hashes),
        (DERIVED_COLUMN, pa.scalar(True)),
    ):
        filled = pc.replace_with_mask(rows[name], lacks_session, values)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), filled)
    return rows
