"""One worker process, from start to exit code; what it runs is `Worker` in `app.py`."""

import asyncio
import faulthandler
import logging
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from schemas.registry import (
    Backups,
    DatabaseError,
    RegistryFollower,
    RegistryStore,
    add_registry_gauge,
    registry_unavailable,
)
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import (
    REFUSED,
    Heartbeat,
    read_heartbeats,
    remove_heartbeat,
    write_heartbeat,
)
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import REGISTRY
from schemas.telemetry.traces import close_traces
from stream.app import EndProcess, Worker
from stream.consumer.group_members import lake_id, refuse_foreign_group
from stream.consumer.progress import PartitionLag
from stream.enrich.rules.geo_database import GeoDatabase
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.user_agent_parser import user_agent_parser
from stream.faust_adapter import check_libraries, start, topics_exist
from stream.runtime.allocator import tune_allocator
from stream.runtime.errors import (
    EXIT_CONFIG,
    EXIT_OK,
    FatalError,
    GeoDatabaseMissing,
    LogDamaged,
    RegistryMissing,
    Stuck,
    TableRepaired,
)
from stream.state.id_index import MemoryBudget
from stream.storage.log_repair import repair_logs
from stream.storage.object_store import await_store
from stream.writing.open_writers import (
    LIVE,
    WorkerRole,
    open_writers,
    skipped_tables,
    until_repaired,
    wait_for_repair,
)

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1.0
JOINING_SECONDS = 0.2
"""Heartbeat interval before the worker is in the group: `up` waits for the heartbeat after that."""
HEARTBEATS_PER_TOPIC_CHECK = 5
"""Heartbeats between two checks of the topic ids, for topics without messages."""
STOP_SECONDS = 5.0
STORE_SECONDS = 600.0
"""How long a worker that ran before waits for the object store: sooner than to start again."""

HandOver = Callable[[Worker], NoReturn]
"""Replaces the process of a worker that is idle."""


def run(
    settings: Settings, name: str, role: WorkerRole = LIVE, hand_over: HandOver | None = None
) -> int:
    """Run until told to stop, or until idle with `hand_over`; 0, or a fatal error's exit code."""
    return asyncio.run(_run(settings, name, role, hand_over))


def exit_fatally(error: FatalError) -> NoReturn:
    """End the process at once: its state in memory is not valid."""
    log.critical("worker exits", extra={"error": type(error).__name__, "reason": str(error)})
    if isinstance(error, Stuck):
        faulthandler.dump_traceback(all_threads=True)
    logging.shutdown()
    os._exit(error.code)


def fatal_handler(settings: Settings, name: str) -> EndProcess:
    """Ends the process; an error that needs an operator goes into the heartbeat first."""

    def end_process(error: FatalError) -> NoReturn:
        if error.code == EXIT_CONFIG or isinstance(error, LogDamaged):
            heartbeat = Heartbeat(name, os.getpid(), now_ms(), REFUSED, reason=str(error))
            with suppress(OSError):
                write_heartbeat(settings.data / "run", heartbeat)
        exit_fatally(error)

    return end_process


async def _run(settings: Settings, name: str, role: WorkerRole, hand_over: HandOver | None) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    end_process = fatal_handler(settings, name)
    try:
        check_libraries()
    except FatalError as error:
        end_process(error)
    geo_database = await asyncio.to_thread(_geo_database, settings)
    topics = {settings.topic(kind.topic) for kind in role.kinds}
    if not await _completes_before(stop, topics_exist(settings, topics)):
        return EXIT_OK
    try:
        store = await_store(settings.lake_url, STORE_SECONDS if ran_before(settings, name) else 0)
        if not await _completes_before(stop, store):
            return EXIT_OK
    except FatalError as error:
        end_process(error)
    await asyncio.to_thread(repair_logs, settings)
    follower = await asyncio.to_thread(_registry_follower, settings)
    lookups = Lookups(
        geo_database,
        lambda website: _website_domain(follower, website),
        lambda: follower.snapshot.tombstones,
        lambda: follower.snapshot.saved,
    )
    memory_budget = MemoryBudget.of(settings)
    writers, damaged_tables = await asyncio.to_thread(
        open_writers, settings, role, lookups, memory_budget
    )
    while not writers:  # exiting would not help, and would stop the processes started with this one
        if not await _completes_before(stop, wait_for_repair(settings, name, damaged_tables)):
            return EXIT_OK
        writers, damaged_tables = await asyncio.to_thread(
            open_writers, settings, role, lookups, memory_budget, quiet=True
        )
    await asyncio.to_thread(user_agent_parser)  # compiled here rather than in the first batch
    tune_allocator()
    lake = await asyncio.to_thread(lake_id, settings)
    try:
        await refuse_foreign_group(settings, settings.consumer_group + role.group_suffix, lake)
    except FatalError as error:
        end_process(error)
    worker = Worker(settings, name, writers, end_process, role.group_suffix, lake)
    REGISTRY.register(PartitionLag(worker.progress))
    add_registry_gauge(follower)
    follower_task = asyncio.create_task(follower.run())
    heartbeat_task = asyncio.create_task(
        _heartbeat_loop(worker, name, skipped_tables(damaged_tables))
    )
    try:
        await start(worker.app)
    except FatalError as error:
        exit_fatally(error)
    log.info("worker started", extra={"worker": name, "kafka": settings.brokers})
    stop_task = asyncio.create_task(stop.wait())
    idle_task = asyncio.create_task(_until_idle(worker) if hand_over else asyncio.Event().wait())
    repaired_task = asyncio.create_task(until_repaired(settings, damaged_tables))
    await asyncio.wait(
        (stop_task, heartbeat_task, idle_task, repaired_task), return_when=asyncio.FIRST_COMPLETED
    )
    if repaired_task.done():
        exit_fatally(TableRepaired("a table that was skipped can be opened again"))
    if heartbeat_task.done():
        exit_fatally(FatalError(f"heartbeat task failed: {heartbeat_task.exception()!r}"))
    follower_task.cancel()
    with suppress(TimeoutError):  # messages that are not stored are read again
        await asyncio.wait_for(worker.app.stop(), STOP_SECONDS)
    if hand_over and idle_task.done():
        hand_over(worker)
    heartbeat_task.cancel()
    close_traces()
    remove_heartbeat(settings.data / "run", name)
    os._exit(EXIT_OK)  # Faust's threads may outlast its stop


async def _completes_before(stop: asyncio.Event, coroutine: Coroutine[Any, Any, None]) -> bool:
    """Whether the coroutine completed before the signal to stop."""
    stop_task, waiting = asyncio.create_task(stop.wait()), asyncio.create_task(coroutine)
    await asyncio.wait((stop_task, waiting), return_when=asyncio.FIRST_COMPLETED)
    stop_task.cancel()
    if waiting.done():
        waiting.result()
        return True
    waiting.cancel()
    return False


async def _until_idle(worker: Worker) -> None:
    """Return when a worker has been idle for `rest_seconds`."""
    while worker.progress.caught_up_seconds() < worker.settings.rest_seconds:  # noqa: ASYNC110
        await asyncio.sleep(HEARTBEAT_SECONDS)


def _geo_database(settings: Settings) -> GeoDatabase:
    """The geo database; a worker exits when a file that TIDEMARK_GEO names cannot be read."""
    geo_database = GeoDatabase(settings.geo_files)
    if settings.geo and (unreadable := geo_database.unreadable_files()):
        exit_fatally(
            GeoDatabaseMissing(f"TIDEMARK_GEO: {', '.join(map(str, unreadable))} cannot be read")
        )
    return geo_database


def _registry_follower(settings: Settings) -> RegistryFollower:
    try:
        return RegistryFollower(
            RegistryStore(settings.registry_url), Backups.for_settings(settings)
        )
    except (DatabaseError, ImportError) as error:
        exit_fatally(RegistryMissing(registry_unavailable(error)))


def _website_domain(follower: RegistryFollower, website_id: str) -> str | None:
    website = follower.snapshot.websites.get(website_id)
    return website.domain if website else None


async def _heartbeat_loop(worker: Worker, name: str, reason: str) -> None:
    """Every second: update the progress, write the heartbeat, and exit when stuck."""
    run = worker.settings.data / "run"
    previous = previous_heartbeat(run, name)
    for number in count():
        await asyncio.sleep(HEARTBEAT_SECONDS if worker.progress.joined else JOINING_SECONDS)
        try:
            if worker.app.crashed:
                raise FatalError(f"Faust crashed: {worker.app.crash_reason!r}")
            worker.update_progress()
            if number % HEARTBEATS_PER_TOPIC_CHECK == 0:
                await worker.check_topics(worker.topics)
        except FatalError as error:
            exit_fatally(error)
        try:
            worker.progress.write_heartbeat(run, name, os.getpid(), previous, reason)
        except OSError as error:
            log.warning("heartbeat not written", extra={"reason": str(error)})


def ran_before(settings: Settings, name: str) -> bool:
    """Whether a worker of this name had partitions and ended without stopping in order."""
    heartbeats = read_heartbeats(settings.data / "run")
    return any(beat.process == name and beat.progress for beat in heartbeats)


def previous_heartbeat(run: Path, name: str) -> Heartbeat:
    """The last heartbeat of this name if it was a refusal: kept until this worker has joined."""
    for heartbeat in read_heartbeats(run):
        if heartbeat.process == name and heartbeat.state == REFUSED:
            return heartbeat
    return Heartbeat(name, os.getpid(), 0, "starting")
