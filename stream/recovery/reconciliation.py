"""Reconciliation: what collectors acknowledged must have been received.

The ledger cannot show messages that no worker read, for example because Kafka lost its disk.
Collectors therefore count what they acknowledge on their own disk; here both counts are compared by
topic, hour and subject.
"""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pyarrow as pa
from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.acknowledged_counts import ACKNOWLEDGED_FOLDER, HOUR_MS, read_hours
from schemas.kinds import ALL_KINDS
from schemas.lake.delta_table import UnreadableTable, open_table, read_version
from schemas.runtime.clock import now_ms
from schemas.runtime.finding import Finding, finding_id
from schemas.runtime.heartbeat import STALE_AFTER_MS, complete_until, read_heartbeats
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER
from stream.storage.table_reader import read_batches

WAIT_SECONDS = 5.0
POLL_SECONDS = 0.25
HOUR_GRACE_MS = 60_000
"""Time after which an hour is complete, even for requests that waited for Kafka."""
MAX_NAMED_SUBJECTS = 5
"""Subjects that a finding names; of further ones it gives the number."""

CountKey = tuple[int, str, str]
"""Hour (Unix milliseconds), topic, subject."""


class WorkersBehind(Exception):
    """Workers are behind, or none runs: missing items may only be late."""


class LedgerUnreadable(Exception):
    """The ledger cannot be read."""


class MissingItems(Struct, frozen=True):
    """Items of one topic and hour that were acknowledged and never received."""

    topic: str
    hour_ms: int
    acknowledged: int
    by_subject: Mapping[str, int]

    @property
    def items(self) -> int:
        return sum(self.by_subject.values())

    @property
    def id(self) -> str:
        """Id of the finding; a different one when more items are missing."""
        return finding_id("never received", self.topic, self.hour_ms, self.items)


def missing_items(
    settings: Settings,
    since_ms: int = 0,
    wait_seconds: float = WAIT_SECONDS,
    completed_hours_only: bool = False,
) -> list[MissingItems]:
    """Items that were acknowledged until now and not received.

    The acknowledged counts are read first, and the ledger as soon as workers report that all
    earlier messages are stored. WorkersBehind when they do not report it in time,
    LedgerUnreadable when the ledger is damaged. With `completed_hours_only` the present hour is
    left out, so that a caller need not wait.
    """
    until_ms = now_ms() - (HOUR_GRACE_MS if completed_hours_only else 0)
    last_hour = until_ms - HOUR_MS if completed_hours_only else until_ms
    hours = {
        hour: counts
        for hour, counts in read_hours(settings.data / ACKNOWLEDGED_FOLDER).items()
        if hour + HOUR_MS > since_ms and hour <= last_hour
    }
    if not hours:
        return []
    topics = {topic for counts in hours.values() for topic, _ in counts}
    _wait_until_stored(settings, topics, until_ms, wait_seconds)
    try:
        received = _ledger_received(settings, min(hours), max(hours) + HOUR_MS)
    except (OSError, pa.ArrowException, DeltaError, UnreadableTable) as error:
        raise LedgerUnreadable(f"the ledger cannot be read: {error}") from error
    missing = []
    for hour, counts in sorted(hours.items()):
        for topic in sorted({topic for topic, _ in counts}):
            acknowledged = {
                subject: items for (name, subject), items in counts.items() if name == topic
            }
            by_subject = {
                subject: items - received.get((hour, topic, subject), 0)
                for subject, items in acknowledged.items()
                if items > received.get((hour, topic, subject), 0)
            }
            if by_subject:
                total = sum(acknowledged.values())
                missing.append(MissingItems(topic, hour, total, by_subject))
    return missing


def findings(missing: list[MissingItems]) -> Iterator[Finding]:
    """A finding for each topic and hour with missing items."""
    for items in missing:
        named = sorted(items.by_subject.items(), key=lambda entry: -entry[1])
        listed = ", ".join(f"{subject}: {count}" for subject, count in named[:MAX_NAMED_SUBJECTS])
        more = (
            f" and {len(named) - MAX_NAMED_SUBJECTS} more"
            if len(named) > MAX_NAMED_SUBJECTS
            else ""
        )
        hour = datetime.fromtimestamp(items.hour_ms / 1000, UTC)
        yield Finding(
            subject=f"{items.topic}, hour of {hour:%Y-%m-%dT%H:%MZ}",
            problem=f"{items.items} of {items.acknowledged} acknowledged items were never received "
            f"({listed}{more})",
            meaning="Kafka lost them before a worker read them, for example because it was "
            "recreated: they were acknowledged to their senders and are in no table.",
            remedy="let senders that still have the items send them again (items with an eventId "
            "that were stored count once); then accept it, or it is reported for two weeks",
            id=items.id,
        )


def _wait_until_stored(settings: Settings, topics: set[str], at_ms: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while behind := [topic for topic in sorted(topics) if not _is_stored(settings, topic, at_ms)]:
        if time.monotonic() > deadline:
            raise WorkersBehind(f"workers have not yet stored all of {', '.join(behind)}")
        time.sleep(POLL_SECONDS)


def _is_stored(settings: Settings, topic: str, at_ms: int) -> bool:
    """Whether all messages before this instant are stored, in every partition."""
    heartbeats = read_heartbeats(settings.data / "run")
    name = settings.topic(topic)
    partitions = [
        progress.partition
        for heartbeat in heartbeats
        for progress in heartbeat.progress
        if progress.topic == name
    ]
    live = [beat for beat in heartbeats if now_ms() - beat.at_ms < STALE_AFTER_MS]
    watermark = complete_until(name, live, max(partitions, default=-1) + 1)
    return watermark is not None and watermark >= at_ms


def _ledger_received(settings: Settings, start_ms: int, end_ms: int) -> Mapping[CountKey, int]:
    """Received items by the ledger, by hour, topic and subject."""
    handle = open_table(settings.lake_url, LEDGER)
    if handle is None:
        return {}
    names = {settings.topic(kind.topic): kind.topic for kind in ALL_KINDS}
    data_files = [
        file
        for file in read_version(handle, LEDGER).data_files
        if file.may_contain(None, start_ms, end_ms)
    ]
    sums: dict[CountKey, int] = {}
    columns = ("ts", "topic", "subject_id", "received")
    for batch in read_batches(handle, LEDGER, data_files, columns):
        for ts, topic, subject, items in _grouped(pa.Table.from_batches([batch])):
            if topic in names:
                key = ts // 1000, names[topic], subject or ""
                sums[key] = sums.get(key, 0) + items
    return sums


def _grouped(rows: pa.Table) -> Iterator[tuple[int, str, str | None, int]]:
    micros = rows["ts"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    grouped = (
        rows.set_column(0, "ts", micros)
        .group_by(["ts", "topic", "subject_id"])
        .aggregate([("received", "sum")])
    )
    names = ("ts", "topic", "subject_id", "received_sum")
    yield from zip(*(grouped[name].to_pylist() for name in names), strict=True)
