"""How everything is: what runs, how far the workers are behind, how fresh the tables are."""

from collections.abc import Sequence

from msgspec import Struct

from deploy.local.account import Entry, read_account
from deploy.local.ready import is_live
from schemas.clock import iso, now_ms
from schemas.kinds import HISTORY, KINDS, Kind
from schemas.lake import open_table, version_of
from schemas.pulse import Pulse, read_pulses
from schemas.settings import Settings


class TableCondition(Struct, frozen=True, rename="camel"):
    """One table, and the topic that feeds it."""

    name: str
    rows: int
    newest: str | None
    """When the newest row was received, ISO 8601."""
    lag_chunks: int | None
    """Messages in Kafka that the table does not hold yet; None when no worker says."""
    lag_seconds: float | None
    """Since when rows may be missing; 0 when the workers are level with Kafka."""


class LaneCondition(Struct, frozen=True, rename="camel"):
    """A topic that feeds a table beside the table's own."""

    lag_chunks: int | None
    lag_seconds: float | None


class Condition(Struct, frozen=True):
    """Everything at one moment."""

    data: str
    processes: tuple[Entry, ...]
    tables: tuple[TableCondition, ...]
    imports: LaneCondition


def condition_of(settings: Settings) -> Condition:
    """Look at processes, pulses and tables; asks no service."""
    account = read_account(settings.data)
    pulses = [pulse for pulse in read_pulses(settings.data / "run") if is_live(pulse)]
    return Condition(
        data=str(settings.data),
        processes=account.processes if account else (),
        tables=tuple(_table(settings, kind, pulses, now_ms()) for kind in KINDS),
        imports=_lane(settings.topic(HISTORY.topic), pulses, now_ms()),
    )


def _lane(topic: str, pulses: Sequence[Pulse], at_ms: int) -> LaneCondition:
    chunks = lag_chunks(topic, pulses)
    return LaneCondition(chunks, lag_seconds(topic, pulses, chunks, at_ms))


def _table(settings: Settings, kind: Kind, pulses: Sequence[Pulse], at_ms: int) -> TableCondition:
    handle = open_table(settings.lake_url, kind.table)
    version = version_of(handle, kind.table) if handle else None
    topic = settings.topic(kind.topic)
    chunks = lag_chunks(topic, pulses)
    return TableCondition(
        name=kind.table.name,
        rows=version.rows if version else 0,
        newest=iso(version.received) if version and version.received else None,
        lag_chunks=chunks,
        lag_seconds=lag_seconds(topic, pulses, chunks, at_ms),
    )


def lag_chunks(topic: str, pulses: Sequence[Pulse]) -> int | None:
    """Messages of the topic that are not stored, over all partitions that a worker speaks of."""
    behind = [
        max(0, progress.end_offset - progress.next_offset)
        for pulse in pulses
        for progress in pulse.progress
        if progress.topic == topic
    ]
    return sum(behind) if behind else None


def lag_seconds(
    topic: str, pulses: Sequence[Pulse], chunks: int | None, at_ms: int
) -> float | None:
    """How long the worker that is furthest behind has not been level with Kafka."""
    level = [pulse.complete_ms[topic] for pulse in pulses if topic in pulse.complete_ms]
    if chunks is None or not level:
        return None
    return 0.0 if chunks == 0 else round((at_ms - min(level)) / 1000, 1)
