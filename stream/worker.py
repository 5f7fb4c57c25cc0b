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
from schemas.registry import Backups, DatabaseError, Follower, Store, no_registry
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import REFUSED, Pulse, read_pulses, remove_pulse, write_pulse
from schemas.runtime.settings import Settings
from schemas.tables import TABLES
from stream.app import End, Worker
from stream.enrich.rules.geo_database import Places
from stream.enrich.rules.lookups import Lookups
from stream.faust_adapter import start, topics_exist
from stream.runtime.allocator import settle
from stream.runtime.errors import (
    OPERATOR,
    ORDERLY,
    LogDamaged,
    Mended,
    NoRegistry,
    Stuck,
    Surprise,
    Unplaced,
)
from stream.state.memory_budget import Room
from stream.storage.log_repair import examine
from stream.writing.batch_writer import Drain
from stream.writing.worker_roles import LIVE, Lane

log = logging.getLogger(__name__)

PULSE_SECONDS = 1.0
JOINING_SECONDS = 0.2
"""Between two beats before it is in the group: others wait for the one that says so."""
TOPICS_EVERY = 5
"""Beats between two looks whether the topics are still the same, for when nothing comes."""
MENDED_SECONDS = 10.0
STOP_SECONDS = 5.0

Leave = Callable[[Worker], NoReturn]
"""Ends the process of a worker that has nothing to do."""


def run(settings: Settings, name: str, lane: Lane = LIVE, leave: Leave | None = None) -> int:
    """Work until told to stop, or until `leave` is due; 0, unless a surprise ends the process."""
    return asyncio.run(_run(settings, name, lane, leave))


def end(surprise: Surprise) -> NoReturn:
    """End the process at once: what it holds in memory must not be used any more."""
    log.critical("worker ends", extra={"why": type(surprise).__name__, "reason": str(surprise)})
    if isinstance(surprise, Stuck):
        faulthandler.dump_traceback(all_threads=True)
    logging.shutdown()
    os._exit(surprise.code)


def ending(settings: Settings, name: str) -> End:
    """Ends the process; what an operator has to decide is told to whoever reads its pulse."""

    def told(surprise: Surprise) -> NoReturn:
        if surprise.code == OPERATOR or isinstance(surprise, LogDamaged):
            pulse = Pulse(name, os.getpid(), now_ms(), REFUSED, reason=str(surprise))
            with suppress(OSError):
                write_pulse(settings.data / "run", pulse)
        end(surprise)

    return told


async def _run(settings: Settings, name: str, lane: Lane, leave: Leave | None) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    places = await asyncio.to_thread(_places, settings)
    topics = {settings.topic(kind.topic) for kind in lane.kinds}
    if not await _before(stop, topics_exist(settings.brokers, topics)):
        return ORDERLY
    await asyncio.to_thread(examine, settings)
    follower = await asyncio.to_thread(_follower, settings)
    lookups = Lookups(places, lambda website: _domain(follower, website))
    room = Room.of(settings)
    drains, left_out = await asyncio.to_thread(_drains, settings, lane, lookups, room)
    while not drains:  # to end would not help, and would end all others that start with us
        if not await _before(stop, _wait_damaged(settings, name, left_out)):
            return ORDERLY
        drains, left_out = await asyncio.to_thread(
            _drains, settings, lane, lookups, room, quiet=True
        )
    settle()
    worker = Worker(settings, name, drains, ending(settings, name), lane.group)
    follow = asyncio.create_task(follower.run())
    pulse = asyncio.create_task(_beat(worker, name, told_of(left_out)))
    try:
        await start(worker.app)
    except Surprise as surprise:
        end(surprise)
    log.info("worker started", extra={"worker": name, "kafka": settings.brokers})
    told = asyncio.create_task(stop.wait())
    resting = asyncio.create_task(_until_rest(worker) if leave else asyncio.Event().wait())
    mended = asyncio.create_task(_until_mended(settings, left_out))
    await asyncio.wait((told, pulse, resting, mended), return_when=asyncio.FIRST_COMPLETED)
    if mended.done():
        end(Mended("a table that was left out can be opened again"))
    if pulse.done():
        end(Surprise(f"nobody watches any more: {pulse.exception()!r}"))
    follow.cancel()
    with suppress(TimeoutError):  # what is not stored is read again
        await asyncio.wait_for(worker.app.stop(), STOP_SECONDS)
    if leave and resting.done():
        leave(worker)
    pulse.cancel()
    remove_pulse(settings.data / "run", name)
    os._exit(ORDERLY)  # Faust's threads may outlast its stop


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


async def _wait_damaged(settings: Settings, name: str, left_out: LeftOut) -> None:
    """Say that no table can be opened, and give somebody time to mend it."""
    with suppress(OSError):
        pulse = Pulse(name, os.getpid(), now_ms(), REFUSED, reason=told_of(left_out))
        write_pulse(settings.data / "run", pulse)
    await asyncio.sleep(MENDED_SECONDS)


def _drains(
    settings: Settings, lane: Lane, lookups: Lookups, room: Room, quiet: bool = False
) -> tuple[dict[str, Drain], LeftOut]:
    """By topic; without those of tables whose log is damaged: their messages wait in Kafka."""
    drains: dict[str, Drain] = {}
    left_out: dict[str, str] = {}
    for kind in lane.kinds:
        try:
            drains[settings.topic(kind.topic)] = lane.drain(settings, kind, lookups, room=room)
        except DamagedLog as damaged:
            left_out[kind.table.name] = str(damaged)
            log.log(
                logging.DEBUG if quiet else logging.CRITICAL,
                "table left out: what is sent for it waits in Kafka until its log is mended",
                extra={"table": kind.table.name, "reason": str(damaged)},
            )
    return drains, left_out


async def _until_mended(settings: Settings, left_out: LeftOut) -> None:
    """Return when a table that was left out can be opened."""
    waiting = [table for table in TABLES if table.name in left_out]
    while True:
        await asyncio.sleep(MENDED_SECONDS)
        for table in waiting:
            with suppress(DamagedLog, DeltaError, OSError):
                await asyncio.to_thread(open_table, settings.lake_url, table)
                return


async def _before(stop: asyncio.Event, waiting: Coroutine[Any, Any, None]) -> bool:
    """Whether the waiting was over before the stop."""
    told, waited = asyncio.create_task(stop.wait()), asyncio.create_task(waiting)
    await asyncio.wait((told, waited), return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if waited.done():
        waited.result()
        return True
    waited.cancel()
    return False


async def _until_rest(worker: Worker) -> None:
    """Return when a worker has had nothing to do for a while."""
    while worker.journal.level_seconds() < worker.settings.rest_seconds:  # noqa: ASYNC110
        await asyncio.sleep(PULSE_SECONDS)


def _places(settings: Settings) -> Places:
    """The place database; a worker that cannot read what a setting names stores nothing."""
    places = Places(settings.place_files)
    if settings.geo and (unread := places.unread()):
        end(Unplaced(f"TIDEMARK_GEO names {', '.join(map(str, unread))}, which cannot be read"))
    return places


def _follower(settings: Settings) -> Follower:
    try:
        return Follower(Store(settings.registry_url), Backups.of(settings))
    except (DatabaseError, ImportError) as away:
        end(NoRegistry(no_registry(away)))


def _domain(follower: Follower, website: str) -> str | None:
    found = follower.snapshot.websites.get(website)
    return found.domain if found else None


async def _beat(worker: Worker, name: str, left_out: str) -> None:
    """Every second: note how far Kafka is, say how we are, and end when we got stuck."""
    run = worker.settings.data / "run"
    before = pulse_before(run, name)
    for beat in count():
        await asyncio.sleep(PULSE_SECONDS if worker.journal.joined else JOINING_SECONDS)
        try:
            if worker.app.crashed:
                raise Surprise(f"Faust crashed: {worker.app.crash_reason!r}")
            worker.look()
            if beat % TOPICS_EVERY == 0:
                await worker.check_topics(worker.topics)
        except Surprise as surprise:
            end(surprise)
        try:
            worker.journal.pulse(run, name, os.getpid(), before, left_out)
        except OSError as full:
            log.warning("no pulse", extra={"reason": str(full)})


def pulse_before(run: Path, name: str) -> Pulse:
    """What was said under this name: a refusal stands until this worker got further."""
    for pulse in read_pulses(run):
        if pulse.process == name and pulse.state == REFUSED:
            return pulse
    return Pulse(name, os.getpid(), 0, "starting")
