"""One worker process, from its start to its exit code."""

import asyncio
import faulthandler
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from deltalake.exceptions import DeltaError

from schemas.lake.delta_table import DamagedLog, open_table
from schemas.registry import (
    Backups,
    DatabaseError,
    RegistryFollower,
    RegistryStore,
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
from schemas.tables import TABLES
from stream.app import EndProcess, Worker
from stream.enrich.rules.geo_database import GeoDatabase
from stream.enrich.rules.lookups import Lookups
from stream.faust_adapter import start, topics_exist
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
from stream.state.memory_budget import MemoryBudget
from stream.storage.log_repair import repair_logs
from stream.writing.batch_writer import BatchWriter
from stream.writing.worker_roles import LIVE, WorkerRole

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1.0
JOINING_SECONDS = 0.2
"""Between two beats before it is in the group: others wait for the one that says so."""
HEARTBEATS_PER_TOPIC_CHECK = 5
"""Beats between two looks whether the topics are still the same, for when nothing comes."""
RECHECK_SECONDS = 10.0
STOP_SECONDS = 5.0

HandOver = Callable[[Worker], NoReturn]
"""Ends the process of a worker that has nothing to do."""


def run(
    settings: Settings, name: str, lane: WorkerRole = LIVE, leave: HandOver | None = None
) -> int:
    """Work until told to stop, or until `leave` is due; 0, unless a surprise ends the process."""
    return asyncio.run(_run(settings, name, lane, leave))


def exit_fatally(surprise: FatalError) -> NoReturn:
    """End the process at once: what it holds in memory must not be used any more."""
    log.critical("worker ends", extra={"why": type(surprise).__name__, "reason": str(surprise)})
    if isinstance(surprise, Stuck):
        faulthandler.dump_traceback(all_threads=True)
    logging.shutdown()
    os._exit(surprise.code)


def fatal_handler(settings: Settings, name: str) -> EndProcess:
    """Ends the process; what an operator has to decide is told to whoever reads its pulse."""

    def told(surprise: FatalError) -> NoReturn:
        if surprise.code == EXIT_CONFIG or isinstance(surprise, LogDamaged):
            pulse = Heartbeat(name, os.getpid(), now_ms(), REFUSED, reason=str(surprise))
            with suppress(OSError):
                write_heartbeat(settings.data / "run", pulse)
        exit_fatally(surprise)

    return told


async def _run(settings: Settings, name: str, lane: WorkerRole, leave: HandOver | None) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    places = await asyncio.to_thread(_geo_database, settings)
    topics = {settings.topic(kind.topic) for kind in lane.kinds}
    if not await _completes_before(stop, topics_exist(settings.brokers, topics)):
        return EXIT_OK
    await asyncio.to_thread(repair_logs, settings)
    follower = await asyncio.to_thread(_registry_follower, settings)
    lookups = Lookups(places, lambda website: _website_domain(follower, website))
    room = MemoryBudget.of(settings)
    drains, left_out = await asyncio.to_thread(_writers, settings, lane, lookups, room)
    while not drains:  # to end would not help, and would end all others that start with us
        if not await _completes_before(stop, _wait_for_repair(settings, name, left_out)):
            return EXIT_OK
        drains, left_out = await asyncio.to_thread(
            _writers, settings, lane, lookups, room, quiet=True
        )
    tune_allocator()
    worker = Worker(settings, name, drains, fatal_handler(settings, name), lane.group_suffix)
    follow = asyncio.create_task(follower.run())
    pulse = asyncio.create_task(_heartbeat_loop(worker, name, told_of(left_out)))
    try:
        await start(worker.app)
    except FatalError as surprise:
        exit_fatally(surprise)
    log.info("worker started", extra={"worker": name, "kafka": settings.brokers})
    told = asyncio.create_task(stop.wait())
    resting = asyncio.create_task(_until_idle(worker) if leave else asyncio.Event().wait())
    mended = asyncio.create_task(_until_repaired(settings, left_out))
    await asyncio.wait((told, pulse, resting, mended), return_when=asyncio.FIRST_COMPLETED)
    if mended.done():
        exit_fatally(TableRepaired("a table that was left out can be opened again"))
    if pulse.done():
        exit_fatally(FatalError(f"nobody watches any more: {pulse.exception()!r}"))
    follow.cancel()
    with suppress(TimeoutError):  # what is not stored is read again
        await asyncio.wait_for(worker.app.stop(), STOP_SECONDS)
    if leave and resting.done():
        leave(worker)
    pulse.cancel()
    remove_heartbeat(settings.data / "run", name)
    os._exit(EXIT_OK)  # Faust's threads may outlast its stop


LeftOut = Mapping[str, str]
"""Names of tables that cannot be opened, and why."""


def told_of(left_out: LeftOut) -> str:
    """What is not stored, and what mends it; empty when all is."""
    if not left_out:
        return ""
    why = "; ".join(dict.fromkeys(left_out.values()))
    return (
        f"what is sent for {', '.join(sorted(left_out))} waits in Kafka, because a log is damaged "
        f"({why}): tidemark doctor --repair"
    )


async def _wait_for_repair(settings: Settings, name: str, left_out: LeftOut) -> None:
    """Say that no table can be opened, and give somebody time to mend it."""
    with suppress(OSError):
        pulse = Heartbeat(name, os.getpid(), now_ms(), REFUSED, reason=told_of(left_out))
        write_heartbeat(settings.data / "run", pulse)
    await asyncio.sleep(RECHECK_SECONDS)


def _writers(
    settings: Settings, lane: WorkerRole, lookups: Lookups, room: MemoryBudget, quiet: bool = False
) -> tuple[dict[str, BatchWriter], LeftOut]:
    """By topic; without those of tables whose log is damaged: their messages wait in Kafka."""
    drains: dict[str, BatchWriter] = {}
    left_out: dict[str, str] = {}
    for kind in lane.kinds:
        try:
            drains[settings.topic(kind.topic)] = lane.writer(settings, kind, lookups, room=room)
        except DamagedLog as damaged:
            left_out[kind.table.name] = str(damaged)
            log.log(
                logging.DEBUG if quiet else logging.CRITICAL,
                "table left out: what is sent for it waits in Kafka until its log is mended",
                extra={"table": kind.table.name, "reason": str(damaged)},
            )
    return drains, left_out


async def _until_repaired(settings: Settings, left_out: LeftOut) -> None:
    """Return when a table that was left out can be opened."""
    waiting = [table for table in TABLES if table.name in left_out]
    while True:
        await asyncio.sleep(RECHECK_SECONDS)
        for table in waiting:
            with suppress(DamagedLog, DeltaError, OSError):
                await asyncio.to_thread(open_table, settings.lake_url, table)
                return


async def _completes_before(stop: asyncio.Event, waiting: Coroutine[Any, Any, None]) -> bool:
    """Whether the waiting was over before the stop."""
    told, waited = asyncio.create_task(stop.wait()), asyncio.create_task(waiting)
    await asyncio.wait((told, waited), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if waited.done():
        waited.result()
        return True
    waited.cancel()
    return False


async def _until_idle(worker: Worker) -> None:
    """Return when a worker has had nothing to do for a while."""
    while worker.progress.caught_up_seconds() < worker.settings.rest_seconds:  # noqa: ASYNC110
        await asyncio.sleep(HEARTBEAT_SECONDS)


def _geo_database(settings: Settings) -> GeoDatabase:
    """The place database; a worker that cannot read what a setting names stores nothing."""
    places = GeoDatabase(settings.geo_files)
    if settings.geo and (unread := places.unreadable_files()):
        exit_fatally(
            GeoDatabaseMissing(
                f"TIDEMARK_GEO names {', '.join(map(str, unread))}, which cannot be read"
            )
        )
    return places


def _registry_follower(settings: Settings) -> RegistryFollower:
    try:
        return RegistryFollower(
            RegistryStore(settings.registry_url), Backups.for_settings(settings)
        )
    except (DatabaseError, ImportError) as away:
        exit_fatally(RegistryMissing(registry_unavailable(away)))


def _website_domain(follower: RegistryFollower, website: str) -> str | None:
    found = follower.snapshot.websites.get(website)
    return found.domain if found else None


async def _heartbeat_loop(worker: Worker, name: str, left_out: str) -> None:
    """Every second: note how far Kafka is, say how we are, and end when we got stuck."""
    run = worker.settings.data / "run"
    before = previous_heartbeat(run, name)
    for beat in count():
        await asyncio.sleep(HEARTBEAT_SECONDS if worker.progress.joined else JOINING_SECONDS)
        try:
            if worker.app.crashed:
                raise FatalError(f"Faust crashed: {worker.app.crash_reason!r}")
            worker.update_progress()
            if beat % HEARTBEATS_PER_TOPIC_CHECK == 0:
                await worker.check_topics(worker.topics)
        except FatalError as surprise:
            exit_fatally(surprise)
        try:
            worker.progress.write_heartbeat(run, name, os.getpid(), before, left_out)
        except OSError as full:
            log.warning("no pulse", extra={"reason": str(full)})


def previous_heartbeat(run: Path, name: str) -> Heartbeat:
    """What was said under this name: a refusal stands until this worker got further."""
    for pulse in read_heartbeats(run):
        if pulse.process == name and pulse.state == REFUSED:
            return pulse
    return Heartbeat(name, os.getpid(), 0, "starting")
