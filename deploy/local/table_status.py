"""What the tables have, and what they lack of Kafka's messages; all are read at the same time."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from textwrap import shorten
from typing import TYPE_CHECKING

from msgspec import Struct

from deploy.local.disk_space import to_mb
from deploy.local.store_problem import explain
from schemas.kinds import IMPORTED_EVENT, KINDS, Kind
from schemas.lake.delta_table import TableVersion, open_table, read_version
from schemas.lake.object_store import UNREADABLE, StoreUnreachable
from schemas.runtime.clock import format_instant
from schemas.runtime.heartbeat import Heartbeat
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE, Table

if TYPE_CHECKING:
    from deploy.local.kafka.offsets import TopicLag

from collections.abc import Set

from deploy.local.processes.readiness import is_fresh

MAX_PROBLEM_LENGTH = 200


class TableStatus(Struct, frozen=True, rename="camel"):
    """One table, and the topic that it is written from."""

    name: str
    rows: int | None
    """None when the table cannot be read."""
    newest: str | None
    """Time of receipt of the newest row, ISO 8601."""
    lag_chunks: int | None
    """Kafka messages that are not in the table yet; None when neither Kafka nor a worker tells."""
    lag_seconds: float | None
    """Age of the oldest message that is not in the table yet; 0 without any."""
    problem: str | None = None
    """Why the table cannot be read."""
    data_mb: float | None = None
    """Size of the data files of its version."""


class ImportsStatus(Struct, frozen=True, rename="camel"):
    """Lag of the topic of imported events, which are written to the table `events`."""

    lag_chunks: int | None
    lag_seconds: float | None


class StoredStatus(Struct, frozen=True):
    """All tables, and the problems in reading them."""

    tables: tuple[TableStatus, ...]
    imports: ImportsStatus
    quarantine_rows: int | None
    problems: tuple[str, ...]


def stored_status(
    settings: Settings, heartbeats: Sequence[Heartbeat], runs_kafka: bool, at_ms: int
) -> StoredStatus:
    """Read tables and Kafka; where Kafka is away, heartbeats tell the lag."""
    tables = (*(kind.table for kind in KINDS), QUARANTINE)
    with ThreadPoolExecutor(len(tables) + 1) as threads:
        asking = threads.submit(_kafka_lags, settings, at_ms) if runs_kafka else None
        found = threads.map(lambda table: _read_table_version(settings, table), tables)
        versions = dict(zip((table.name for table in tables), found, strict=True))
        lags = asking.result() if asking else {}

    def lag(kind: Kind) -> tuple[int | None, float | None]:
        return _lag(settings.topic(kind.topic), heartbeats, lags, at_ms)

    return StoredStatus(
        tables=tuple(_table_status(k, versions[k.table.name], lag(k)) for k in KINDS),
        imports=ImportsStatus(*lag(IMPORTED_EVENT)),
        quarantine_rows=_row_count(versions[QUARANTINE.name]),
        problems=tuple(_problems({n: v for n, v in versions.items() if isinstance(v, str)})),
    )


def _problems(reasons: Mapping[str, str]) -> Iterator[str]:
    """One for all tables that cannot be read for the same reason; by table."""
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name, its_reason in reasons.items() if its_reason == reason]
        yield f"{'tables' if len(names) > 1 else 'table'} {', '.join(names)}: {reason}"


def _kafka_lags(settings: Settings, at_ms: int) -> "Mapping[str, TopicLag]":
    from deploy.local.kafka.offsets import topic_lags  # with the client of Kafka

    return topic_lags(settings, at_ms)


def _lag(
    topic: str, heartbeats: Sequence[Heartbeat], lags: "Mapping[str, TopicLag]", at_ms: int
) -> tuple[int | None, float | None]:
    """Messages and seconds: by Kafka and the table, or by heartbeats while Kafka is away."""
    if topic in lags:
        return lags[topic].messages, lags[topic].seconds
    chunks = lag_chunks(topic, heartbeats)
    return chunks, lag_seconds(topic, heartbeats, chunks, at_ms)


def _table_status(
    kind: Kind, version: TableVersion | str | None, lag: tuple[int | None, float | None]
) -> TableStatus:
    if isinstance(version, str):
        return TableStatus(kind.table.name, None, None, *lag, version)
    rows, newest = (version.rows, version.newest_received_ms) if version else (0, None)
    size = sum(file.size for file in version.data_files) if version else 0
    return TableStatus(kind.table.name, rows, format_instant(newest), *lag, data_mb=to_mb(size))


def _row_count(version: TableVersion | str | None) -> int | None:
    if isinstance(version, str):
        return None
    return version.rows if version else 0


def _read_table_version(settings: Settings, table: Table) -> TableVersion | str | None:
    """The newest version; the reason (a text) when it cannot be read; None without any rows."""
    try:
        handle = open_table(settings.lake_url, table)
        return read_version(handle, table) if handle else None
    except StoreUnreachable as error:
        problem, _ = explain(error)
        return shorten(f"{UNREADABLE}{problem}", MAX_PROBLEM_LENGTH, placeholder=" …")
    except Exception as error:
        return first_line(error)


def first_line(error: Exception) -> str:
    """The first line of an error's text, cut between words to MAX_PROBLEM_LENGTH characters."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return shorten(lines[0], MAX_PROBLEM_LENGTH, placeholder=" …")


def relevant_heartbeats(
    heartbeats: Sequence[Heartbeat], running: Set[int], at_ms: int
) -> list[Heartbeat]:
    """The heartbeats that count: fresh ones, and old ones of running but frozen processes.

    A partition that a fresh heartbeat reports no longer belongs to a frozen process.
    """
    fresh = [heartbeat for heartbeat in heartbeats if is_fresh(heartbeat, at_ms)]
    reported = {(at.topic, at.partition) for heartbeat in fresh for at in heartbeat.progress}
    frozen = [
        heartbeat
        for heartbeat in heartbeats
        if heartbeat not in fresh
        and heartbeat.pid in running
        and not any((at.topic, at.partition) in reported for at in heartbeat.progress)
    ]
    return [*fresh, *frozen]


def lag_chunks(topic: str, heartbeats: Sequence[Heartbeat]) -> int | None:
    """Messages of the topic that are not stored yet, over all reported partitions."""
    behind = [
        max(0, progress.end_offset - progress.next_offset)
        for heartbeat in heartbeats
        for progress in heartbeat.progress
        if progress.topic == topic
    ]
    return sum(behind) if behind else None


def lag_seconds(
    topic: str, heartbeats: Sequence[Heartbeat], chunks: int | None, at_ms: int
) -> float | None:
    """Seconds since the slowest worker last caught up with Kafka.

    None while a worker that holds partitions of the topic does not report its progress.
    """
    holders = [
        heartbeat for heartbeat in heartbeats if any(at.topic == topic for at in heartbeat.progress)
    ]
    level = [
        heartbeat.complete_ms[topic] for heartbeat in holders if topic in heartbeat.complete_ms
    ]
    if chunks is None or not level or len(level) < len(holders):
        return None
    if chunks == 0 and all(is_fresh(heartbeat, at_ms) for heartbeat in holders):
        return 0.0
    return round((at_ms - min(level)) / 1000, 1)
