"""Reconciliation: whatever collectors acknowledged must have been received by a worker.

The ledger alone cannot see what nobody read: a Kafka that was lost took it along. Collectors keep
an account of their own, on their own disk; here both are compared, by topic, hour and subject.
"""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
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
from stream.storage.object_store import storage_at

WAIT_SECONDS = 5.0
POLL_SECONDS = 0.25
HOUR_GRACE_MS = 60_000
"""An hour that ended so long ago is over, whatever waited for Kafka at its end."""
MAX_NAMED_SUBJECTS = 5
"""Subjects that a finding names; of the others the number."""

CountKey = tuple[int, str, str]
"""Hour (Unix milliseconds), topic, subject."""


class WorkersBehind(Exception):
    """Workers are behind, or none runs: what is missing may only be late."""


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
        """Of its finding; another one when more items are missing."""
        return finding_id("never received", self.topic, self.hour_ms, self.items)


def missing_items(
    settings: Settings,
    since_ms: int = 0,
    wait_seconds: float = WAIT_SECONDS,
    over_only: bool = False,
) -> list[MissingItems]:
    """What is missing of what was acknowledged until now; NotLevel when nobody can tell.

    The account is read first, and the ledger once the workers say that they have stored all that
    Kafka took before. With `over_only` the present hour is left out, and nobody has to wait.
    """
    began = now_ms() - (HOUR_GRACE_MS if over_only else 0)
    last = began - HOUR_MS if over_only else began
    hours = {
        hour: counts
        for hour, counts in read_hours(settings.data / ACKNOWLEDGED_FOLDER).items()
        if hour + HOUR_MS > since_ms and hour <= last
    }
    if not hours:
        return []
    topics = {topic for counts in hours.values() for topic, _ in counts}
    _wait_until_stored(settings, topics, began, wait_seconds)
    try:
        received = _ledger_received(settings, min(hours), max(hours) + HOUR_MS)
    except (OSError, pa.ArrowException, DeltaError, UnreadableTable) as damaged:
        raise LedgerUnreadable(f"the ledger cannot be read: {damaged}") from damaged
    found = []
    for hour, counts in sorted(hours.items()):
        for topic in sorted({topic for topic, _ in counts}):
            own = {subject: items for (name, subject), items in counts.items() if name == topic}
            short = {
                subject: items - received.get((hour, topic, subject), 0)
                for subject, items in own.items()
                if items > received.get((hour, topic, subject), 0)
            }
            if short:
                found.append(MissingItems(topic, hour, sum(own.values()), short))
    return found


def findings(lost: list[MissingItems]) -> Iterator[Finding]:
    """The same for an operator, a finding for each topic and hour."""
    for one in lost:
        named = sorted(one.by_subject.items(), key=lambda share: -share[1])
        said = ", ".join(f"{subject}: {items}" for subject, items in named[:MAX_NAMED_SUBJECTS])
        more = (
            f" and {len(named) - MAX_NAMED_SUBJECTS} more"
            if len(named) > MAX_NAMED_SUBJECTS
            else ""
        )
        hour = datetime.fromtimestamp(one.hour_ms / 1000, UTC)
        yield Finding(
            subject=f"{one.topic}, hour of {hour:%Y-%m-%dT%H:%MZ}",
            problem=f"{one.items} of {one.acknowledged} acknowledged items were never received "
            f"({said}{more})",
            meaning="Kafka lost them before a worker read them, as when it was made anew: "
            "senders were told that they are kept, and no question finds them.",
            remedy="have the senders that still hold them send them again (items with an eventId "
            "that were stored count once); then accept it, or it is told for two weeks",
            id=one.id,
        )


def _wait_until_stored(settings: Settings, topics: set[str], at_ms: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while behind := [topic for topic in sorted(topics) if not _is_stored(settings, topic, at_ms)]:
        if time.monotonic() > until:
            raise WorkersBehind(f"workers are not level with {', '.join(behind)}")
        time.sleep(POLL_SECONDS)


def _is_stored(settings: Settings, topic: str, at_ms: int) -> bool:
    """Whether all that Kafka took before this instant is stored, in every partition."""
    pulses = read_heartbeats(settings.data / "run")
    name = settings.topic(topic)
    held = [at.partition for pulse in pulses for at in pulse.progress if at.topic == name]
    live = [pulse for pulse in pulses if now_ms() - pulse.at_ms < STALE_AFTER_MS]
    since = complete_until(name, live, max(held, default=-1) + 1)
    return since is not None and since >= at_ms


def _ledger_received(settings: Settings, start_ms: int, end_ms: int) -> Mapping[CountKey, int]:
    """What the ledger says was received, in this stretch of hours."""
    handle = open_table(settings.lake_url, LEDGER)
    if handle is None:
        return {}
    names = {settings.topic(kind.topic): kind.topic for kind in ALL_KINDS}
    store = storage_at(handle.table_uri)
    root = handle.table_uri.removeprefix("file://").rstrip("/")
    sums: dict[CountKey, int] = {}
    for part in read_version(handle, LEDGER).data_files:
        if not part.may_contain(None, start_ms, end_ms):
            continue
        columns = ["ts", "topic", "subject_id", "received"]
        path = part.path.removeprefix(f"{root}/")
        rows = pq.read_table(path, columns=columns, filesystem=store.filesystem())
        for ts, topic, subject, items in _grouped(rows):
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
