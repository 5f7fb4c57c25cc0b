"""System status: processes, worker lag, freshness of tables, problems.

Each part is checked independently: one that cannot be read is a problem and hides no other part.
The supervisor's file is checked against pids and heartbeats, because on a full disk it is stale.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import msgspec
from msgspec import Struct

from deploy.local.accepted_findings import accepted_findings
from deploy.local.disk_space import floor_mb, folder_mb, free_mb
from deploy.local.other_machines import (
    Address,
    GroupWorker,
    RemoteProcess,
    ask_processes,
    group_workers,
)
from deploy.local.processes.process import ProcessState, pid_exists
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus, read_processes_file
from deploy.local.processes.readiness import is_fresh, unserved_metrics, warnings
from deploy.local.registry_startup import registry_problem
from deploy.local.table_status import (
    ImportsStatus,
    TableStatus,
    first_line,
    relevant_heartbeats,
    stored_status,
)
from ingest.publishing.disk_floor import is_watched
from query.prepared import FOLDER as PREPARED_FOLDER
from schemas.http.limit_counts import server_address, server_counts
from schemas.lake.damage_reports import DamageReports
from schemas.lake.object_store import BRIEF, limit_time
from schemas.runtime.backup_state import BackupState, read_backup_state
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.heartbeat import Heartbeat, read_heartbeats, refusal_reason
from schemas.runtime.settings import Settings

STATUS_MAX_AGE_MS = 30_000
"""The supervisor writes its status every few seconds."""
DAY_MS = 24 * 3_600_000
BACKUP_GRACE_MS = 2 * 3_600_000
"""How late a scheduled backup may be, for example because it takes long."""

StatusLevel = Literal["ok", "degraded", "down"]


class SystemStatus(Struct, frozen=True, rename="camel"):
    """The status of the installation at one time."""

    data: str
    state: StatusLevel
    problems: tuple[str, ...]
    """Why the state is not `ok`, one sentence each."""
    processes: tuple[ProcessStatus, ...]
    tables: tuple[TableStatus, ...]
    imports: ImportsStatus
    quarantine_rows: int | None
    """Rows in the quarantine, duplicates included; None when the table cannot be read."""
    disk_free_mb: int | None
    prepared_mb: float
    """Size of the prepared results on this machine, which are derived from the tables."""
    last_backup_at: str | None = None
    """When the newest scheduled backup was taken; None when this machine makes none."""
    remote: tuple[RemoteProcess, ...] = ()
    """Processes of other machines that were asked."""
    workers: tuple[GroupWorker, ...] | None = None
    """Workers of all machines, if others were asked and Kafka tells."""


def system_status(settings: Settings, others: Sequence[Address] = ()) -> SystemStatus:
    """Check processes, heartbeats, tables and Kafka.

    Only the services at `others` get requests: of this machine there are files.
    """
    at_ms = now_ms()
    remote = ask_processes(others)
    status = read_processes_file(settings.data)
    run = settings.data / "run"
    heartbeats = read_heartbeats(run)
    entries = (
        tuple(check_process(entry, heartbeats, at_ms) for entry in status.processes)
        if status
        else ()
    )
    runs_kafka = bool(settings.kafka or status)
    relevant = relevant_heartbeats(heartbeats, {entry.pid for entry in entries if entry.pid}, at_ms)
    with limit_time(BRIEF), ThreadPoolExecutor(5) as threads:
        reading = threads.submit(stored_status, settings, relevant, runs_kafka, at_ms)
        comparing = threads.submit(_reconciliation_problems, settings, at_ms)
        opening = threads.submit(registry_problem, settings)
        asking = threads.submit(kafka_problems, settings)
        counting = threads.submit(limits_problem, settings)
    stored = reading.result()
    takes_messages = asking.exception() is not None or asking.result().takes_messages
    free = free_mb(settings.data)
    backup = read_backup_state(settings.data) if settings.backup_target else None
    problems = (
        *(_supervisor_problems(status, at_ms) if status or not remote else ()),
        *_problems_of("topics", lambda: [refusal_reason(run, at_ms)]),
        *_problems_of("what was acknowledged", comparing.result),
        *(f"{name}: {warning}" for name, warning in warnings(heartbeats, at_ms)),
        *(f"{e.process}: {e.problem}" for e in unserved_metrics(run, heartbeats, at_ms)),
        *(f"{e.name} is {e.state}" for e in entries if e.state != ProcessState.READY),
        *(f"{e.name or 'a process'} at {e.address}: {e.problem}" for e in remote if e.problem),
        *_problems_of("the registry", lambda: [opening.result()]),
        *_problems_of("Kafka", lambda: asking.result().texts),
        *_problems_of("the server of limits", lambda: [counting.result()]),
        *stored.problems,
        *_problems_of("damage", lambda: map(str, DamageReports(settings.data).files().values())),
        *_backup_problems(backup, at_ms),
        *_disk_problems(settings, free),
    )
    return SystemStatus(
        data=str(settings.data),
        state=_level(
            problems,
            down=not takes_messages or rejects_all(settings, free) or is_down(entries, remote),
        ),
        problems=problems,
        processes=entries,
        tables=stored.tables,
        imports=stored.imports,
        quarantine_rows=stored.quarantine_rows,
        disk_free_mb=free,
        prepared_mb=folder_mb(settings.data / PREPARED_FOLDER),
        last_backup_at=format_instant(backup.last_ms or None) if backup else None,
        remote=remote,
        workers=group_workers(settings) if remote else None,
    )


def _level(problems: Sequence[str], *, down: bool) -> StatusLevel:
    return "down" if down else "degraded" if problems else "ok"


def is_down(entries: Sequence[ProcessStatus], remote: Sequence[RemoteProcess] = ()) -> bool:
    """Whether no events are accepted or no queries are answered: no ready process of some kind.

    A kind that neither runs here nor was asked elsewhere is unknown, unless nothing was asked.
    """
    states = [
        *((entry.name, entry.state == ProcessState.READY) for entry in entries),
        *((each.name or "", each.state == "ready") for each in remote),
    ]
    kinds = {name.partition("-")[0] for name, _ in states}
    serving = {"broker", "collector", "query"} & (
        kinds if remote else kinds | {"collector", "query"}
    )
    ready = {name.partition("-")[0] for name, is_ready in states if is_ready}
    return not serving <= ready or not ready


def rejects_all(settings: Settings, free: int | None) -> bool:
    """Whether the disk is so full that the collectors of this machine reject every request."""
    return is_watched(settings) and free is not None and free < floor_mb(settings)


def check_process(
    entry: ProcessStatus, heartbeats: Sequence[Heartbeat], at_ms: int
) -> ProcessStatus:
    """The supervisor's status of a process, corrected by its pid and heartbeat."""
    if entry.pid is None or entry.state == ProcessState.STOPPING:
        return entry
    if not pid_exists(entry.pid):
        return msgspec.structs.replace(entry, state=ProcessState.GONE)
    if entry.name == "broker" or entry.state != ProcessState.READY:
        return entry
    own = [
        heartbeat
        for heartbeat in heartbeats
        if (heartbeat.process, heartbeat.pid) == (entry.name, entry.pid)
    ]
    if own and is_fresh(own[0], at_ms):
        return entry
    since = f"no heartbeat for {(at_ms - own[0].at_ms) // 1000} s" if own else "no heartbeat"
    reason = f"{since}; {entry.reason}" if entry.reason else since
    return msgspec.structs.replace(entry, state=ProcessState.UNREADY, reason=reason)


def _supervisor_problems(status: ProcessesStatus | None, at_ms: int) -> Iterator[str]:
    if status is None:
        yield "Tidemark is not running"
    elif status.at_ms and abs(at_ms - status.at_ms) > STATUS_MAX_AGE_MS:
        silent = abs(at_ms - status.at_ms) // 1000
        yield f"the supervisor has not reported for {silent} s; check whether the disk is full"


def _reconciliation_problems(settings: Settings, at_ms: int) -> Sequence[str]:
    """Items of the last day that were acknowledged and never received by a worker."""
    from stream.recovery.reconciliation import LedgerUnreadable, WorkersBehind, missing_items

    try:
        lost = missing_items(settings, at_ms - DAY_MS, 0.0, completed_hours_only=True)
    except (WorkersBehind, LedgerUnreadable):
        return ()  # reported as other problems
    accepted = accepted_findings(settings) if lost else frozenset()
    if items := sum(loss.items for loss in lost if loss.id not in accepted):
        return (f"{items} acknowledged items were never received; run tidemark doctor",)
    return ()


def _backup_problems(state: BackupState | None, at_ms: int) -> Iterator[str]:
    if state is None or (not state.problem and at_ms < state.due_ms + BACKUP_GRACE_MS):
        return
    last = f"is of {format_instant(state.last_ms)}" if state.last_ms else "was never written"
    reason = state.problem or f"the next was due at {format_instant(state.due_ms)}"
    yield f"the last backup to {state.target} {last}: {reason}"


def _disk_problems(settings: Settings, free: int | None) -> Iterator[str]:
    if free is not None and free < (floor := floor_mb(settings)):
        yield (
            f"only {free} MB free on the disk of {settings.data} (minimum {floor} MB); "
            "free some space"
        )


def _problems_of(what: str, check: Callable[[], Iterable[str | None]]) -> Sequence[str]:
    """The problems of one part; a failing check is itself a problem."""
    try:
        return [text for text in check() if text]
    except Exception as error:
        return [f"{what} cannot be checked: {first_line(error)}"]


KAFKA_SECONDS = 8.0


class KafkaProblems(Struct, frozen=True):
    """What is wrong with Kafka, a sentence each."""

    texts: Sequence[str] = ()
    takes_messages: bool = True
    """Whether any partition does."""


def kafka_problems(settings: Settings) -> KafkaProblems:
    """Of a Kafka that `TIDEMARK_KAFKA` names: it is away, or partitions lack leader or replicas."""
    if not settings.kafka:
        return KafkaProblems()
    # With the client of Kafka.
    from deploy.local.kafka.broker import KafkaUnavailable
    from deploy.local.kafka.topic_configuration import kafka_state
    from deploy.local.kafka.topics import required_topics

    names = [topic.name for topic in required_topics(settings)]
    try:
        state = kafka_state(settings, names, KAFKA_SECONDS)
    except KafkaUnavailable as error:
        return KafkaProblems([f"Kafka at {settings.brokers} does not answer: {error}"], False)
    topics = state.topics.values()
    count = sum(topic.partitions for topic in topics)
    rejecting = sum(len(topic.rejecting) for topic in topics)
    lacking = sum(len(topic.out_of_sync) for topic in topics)
    problems = {
        f"broker {', '.join(state.away)} of Kafka does not answer": len(state.away),
        f"{rejecting} of {count} partitions in Kafka take no message: they have no leader, or "
        "fewer replicas in sync than min.insync.replicas": rejecting,
        f"{lacking} of {count} partitions in Kafka lack a replica": lacking,
    }
    texts = [text for text, number in problems.items() if number]
    return KafkaProblems(texts, not count or rejecting < count)


def limits_problem(settings: Settings) -> str | None:
    """Why the server of `TIDEMARK_LIMITS_URL` cannot be used; None when it can, or none is set."""
    try:
        asyncio.run(_ping(settings))
    except OSError as error:
        return (
            f"rate limits are those of each machine: the server "
            f"{server_address(settings.limits_url)} does not answer ({error})"
        )
    return None


async def _ping(settings: Settings) -> None:
    if counts := server_counts(settings):
        try:
            await counts.ping()
        finally:
            await counts.close()
