"""How everything is: what runs, how far the workers are behind, how fresh the tables are.

Every part is looked at by itself: one that cannot be read says so, and hides none of the others.
What the supervisor wrote is checked against pids and heartbeats: on a full disk it may be old.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from deploy.local.disk_space import floor_mb, free_mb
from deploy.local.doctor.acceptance import accepted_findings
from deploy.local.processes.process import State, is_alive
from deploy.local.processes.process_file import Account, Entry, read_account
from deploy.local.processes.readiness import is_live
from deploy.local.registry_startup import problem_of
from deploy.local.worker_lag import lag_chunks, lag_seconds, speaking
from schemas.kinds import HISTORY, KINDS, Kind
from schemas.lake.damage_reports import Damage
from schemas.lake.delta_table import Version, open_table, version_of
from schemas.runtime.clock import iso, now_ms
from schemas.runtime.heartbeat import Pulse, read_pulses, refusal
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE, Table

OLD_MS = 30_000
"""A supervisor says every few seconds how its processes are."""
PROBLEM_CHARACTERS = 200
DAY_MS = 24 * 3_600_000

Health = Literal["ok", "degraded", "down"]


class TableCondition(Struct, frozen=True, rename="camel"):
    """One table, and the topic that feeds it."""

    name: str
    rows: int | None
    """None when the table cannot be read."""
    newest: str | None
    """When the newest row was received, ISO 8601."""
    lag_chunks: int | None
    """Messages in Kafka that the table does not hold yet; None when no worker says."""
    lag_seconds: float | None
    """Since when rows may be missing; 0 when the workers are level with Kafka."""
    problem: str | None = None
    """Why it cannot be read."""


class LaneCondition(Struct, frozen=True, rename="camel"):
    """A topic that feeds a table beside the table's own."""

    lag_chunks: int | None
    lag_seconds: float | None


class Condition(Struct, frozen=True, rename="camel"):
    """Everything at one moment."""

    data: str
    state: Health
    problems: tuple[str, ...]
    """What keeps it from being `ok`, a sentence each."""
    processes: tuple[Entry, ...]
    tables: tuple[TableCondition, ...]
    imports: LaneCondition
    quarantine_rows: int | None
    """What could not be stored as sent, copies among it; None when the table cannot be read."""
    disk_free_mb: int | None


def condition_of(settings: Settings) -> Condition:
    """Look at processes, pulses and tables; asks no service."""
    at_ms = now_ms()
    account = read_account(settings.data)
    pulses = read_pulses(settings.data / "run")
    entries = tuple(seen(entry, pulses, at_ms) for entry in account.processes) if account else ()
    heard = speaking(pulses, {entry.pid for entry in entries if entry.pid}, at_ms)
    tables = tuple(_table(settings, kind, heard, at_ms) for kind in KINDS)
    quarantine = _read(settings, QUARANTINE)
    free = free_mb(settings.data)
    run = settings.data / "run"
    problems = (
        *_of_supervisor(account, at_ms),
        *_told("topics", lambda: [refusal(run, at_ms)]),
        *_told("what was acknowledged", lambda: _never_received(settings, at_ms)),
        *(f"{e.name} is {e.state}" for e in entries if e.state != State.READY),
        *_told("the registry", lambda: [problem_of(settings)]),
        *(f"table {table.name}: {table.problem}" for table in tables if table.problem),
        *((f"table quarantine: {quarantine}",) if isinstance(quarantine, str) else ()),
        *_told("damage", lambda: map(str, Damage(settings.data).files().values())),
        *_of_disk(settings, free),
    )
    return Condition(
        data=str(settings.data),
        state="down" if is_down(entries) else "degraded" if problems else "ok",
        problems=problems,
        processes=entries,
        tables=tables,
        imports=_lane(settings.topic(HISTORY.topic), heard, at_ms),
        quarantine_rows=_rows(quarantine),
        disk_free_mb=free,
    )


def is_down(entries: Sequence[Entry]) -> bool:
    """Whether nothing is accepted, or nothing is answered: no process of a kind serves."""
    serving: Mapping[str, bool] = {
        kind: any(e.state == State.READY for e in entries if e.name.partition("-")[0] == kind)
        for kind in ("broker", "collector", "query")
        if kind != "broker" or any(e.name == "broker" for e in entries)
    }
    return not all(serving.values())


def seen(entry: Entry, pulses: Sequence[Pulse], at_ms: int) -> Entry:
    """What the supervisor said of a process, corrected by what can be seen now."""
    if entry.pid is None or entry.state == State.STOPPING:
        return entry
    if not is_alive(entry.pid):
        return msgspec.structs.replace(entry, state=State.GONE)
    if entry.name == "broker" or entry.state != State.READY:
        return entry
    own = [pulse for pulse in pulses if (pulse.process, pulse.pid) == (entry.name, entry.pid)]
    if own and is_live(own[0], at_ms):
        return entry
    since = f"no heartbeat for {(at_ms - own[0].at_ms) // 1000} s" if own else "no heartbeat"
    reason = f"{since}; {entry.reason}" if entry.reason else since
    return msgspec.structs.replace(entry, state=State.UNREADY, reason=reason)


def _of_supervisor(account: Account | None, at_ms: int) -> Iterator[str]:
    if account is None:
        yield "nothing runs"
    elif account.at_ms and abs(at_ms - account.at_ms) > OLD_MS:
        silent = abs(at_ms - account.at_ms) // 1000
        yield f"the supervisor has said nothing for {silent} s: the disk may be full"


def _never_received(settings: Settings, at_ms: int) -> Iterator[str]:
    """What was acknowledged in the hours of the last day, and never received."""
    from stream.recovery.reconciliation import NotLevel, Unreadable, missing

    try:
        lost = missing(settings, at_ms - DAY_MS, 0.0, over_only=True)
    except (NotLevel, Unreadable):
        return  # other problems say who is late, or what is damaged
    accepted = accepted_findings(settings) if lost else frozenset()
    if items := sum(one.items for one in lost if one.id not in accepted):
        yield f"{items} acknowledged items were never received; see tidemark doctor"


def _lane(topic: str, pulses: Sequence[Pulse], at_ms: int) -> LaneCondition:
    chunks = lag_chunks(topic, pulses)
    return LaneCondition(chunks, lag_seconds(topic, pulses, chunks, at_ms))


def _table(settings: Settings, kind: Kind, pulses: Sequence[Pulse], at_ms: int) -> TableCondition:
    version = _read(settings, kind.table)
    topic = settings.topic(kind.topic)
    chunks = lag_chunks(topic, pulses)
    seconds = lag_seconds(topic, pulses, chunks, at_ms)
    if isinstance(version, str):
        return TableCondition(kind.table.name, None, None, chunks, seconds, version)
    rows, newest = (version.rows, version.received) if version else (0, None)
    return TableCondition(kind.table.name, rows, iso(newest), chunks, seconds)


def _of_disk(settings: Settings, free: int | None) -> Iterator[str]:
    if free is not None and free < (floor := floor_mb(settings)):
        yield f"only {free} MB are free on the disk of {settings.data}, less than {floor}"


def _told(what: str, look: Callable[[], Iterable[str | None]]) -> Sequence[str]:
    """What one part has to say; that it cannot be looked at hides no other one."""
    try:
        return [said for said in look() if said]
    except Exception as failed:
        return [f"{what} cannot be looked at: {_first_line(failed)}"]


def _rows(version: Version | str | None) -> int | None:
    if isinstance(version, str):
        return None
    return version.rows if version else 0


def _read(settings: Settings, table: Table) -> Version | str | None:
    """The newest version; in a few words why there is none to be had; None when it is empty."""
    try:
        handle = open_table(settings.lake_url, table)
        return version_of(handle, table) if handle else None
    except Exception as unreadable:
        return _first_line(unreadable)


def _first_line(failed: Exception) -> str:
    said = str(failed).strip().splitlines() or [type(failed).__name__]
    return said[0][:PROBLEM_CHARACTERS]
