"""Scrub: compares every data file with its checksum, once a day, a few megabytes a second.

Disks can return wrong bytes without an error, and queries would return wrong numbers. A file
without a checksum in its name is decoded completely the first time; its checksum is stored and used
from then on.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.kinds import lake_tables
from schemas.lake.damage_reports import DamagedFile
from schemas.lake.data_files import file_checksum, file_problem, named_checksum
from schemas.lake.delta_log import LOG_FOLDER
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.runtime.clock import now_ms
from schemas.runtime.files import read_regular, write_atomically
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.verification import DAMAGE_CONSEQUENCE, decode_problem
from stream.storage.delta_commit import LakeTable

log = logging.getLogger(__name__)

STATE_FOLDER = "scrub"
INTERVAL_MS = 24 * 3_600_000
"""A cycle starts this long after the start of the previous one, or when that one has ended."""
POLL_SECONDS = 10.0
SAVE_SECONDS = 2.0
MEGABYTE = 1_048_576

Throttle = Callable[[int], None]
"""Called with the number of bytes after each read; limits the rate by waiting."""


class ScrubResult(Struct, frozen=True):
    """The check of one data file, or the log of a table that cannot be opened."""

    table: str
    path: str
    size: int
    problem: str | None
    is_checksum_new: bool = False
    """Whether its checksum was stored now, because it had none."""


class ScrubState(Struct):
    """How far the scrub of one table has come; stored as JSON, so it survives restarts."""

    last: str = ""
    """The last path that was checked in this cycle, in the order of paths."""
    began_ms: int = 0
    ended_ms: int = 0
    checksums: dict[str, str] = {}
    """Checksums by path, for files without one in their name."""


def scrub(table: LakeTable, state: ScrubState, throttle: Throttle) -> Iterator[ScrubResult]:
    """Check the remaining files of a cycle, one by one, and report damaged ones."""
    table.refresh()
    data_files = sorted(live_data_files(table.handle, table.table), key=lambda file: file.path)
    live = {data_file.path for data_file in data_files}
    state.checksums = {path: checksum for path, checksum in state.checksums.items() if path in live}
    for data_file in data_files:
        if data_file.path > state.last:
            yield _scrub_file(table, data_file, state, throttle)
            state.last = data_file.path
    state.last, state.ended_ms = "", now_ms()


def recheck(table: LakeTable, throttle: Throttle | None = None) -> None:
    """Clear the damage reports of files that are intact again or no longer in a table version."""
    reports = table.damage_reports.of_table(table.table.name)
    if not reports:
        return
    table.refresh()
    live = {data_file.path: data_file for data_file in live_data_files(table.handle, table.table)}
    for report in reports.values():
        data_file = live.get(report.path)
        if data_file is None or _problem(table, data_file, None, throttle) is None:
            table.damage_reports.clear(report)
            reason = (
                "its checksum matches again"
                if data_file
                else "no table version contains it any more"
            )
            log.info(
                "data file is no longer damaged", extra={"file": report.path, "reason": reason}
            )


def scrub_all(settings: Settings, throttle: Throttle = lambda read: None) -> Iterator[ScrubResult]:  # noqa: ARG005
    """A complete cycle over all tables; one that cannot be opened is reported and skipped."""
    for table in lake_tables():
        try:
            if open_table(settings.lake_url, table) is None:
                continue
            lake_table = LakeTable(settings, table)
        except UnreadableTable as error:
            yield ScrubResult(table.name, LOG_FOLDER, 0, f"cannot be opened ({error})")
            continue
        state = load(settings, table)
        state.last = ""
        yield from scrub(lake_table, state, throttle)
        recheck(lake_table, throttle)
        save(settings, table, state)


class Scrubber:
    """The keeper's scrub, in its own thread; it waits most of the time."""

    def __init__(self, settings: Settings, stop: threading.Event) -> None:
        self._settings = settings
        self._stop = stop
        self._tables: dict[str, LakeTable] = {}
        self._saved_at = 0.0
        self._rate = settings.scrub_mb * MEGABYTE

    def run_cycle(self, table: Table) -> None:
        """Check the files of one table that are due."""
        if table.name not in self._tables:
            if open_table(self._settings.lake_url, table) is None:
                return
            self._tables[table.name] = LakeTable(self._settings, table)
        lake_table = self._tables[table.name]
        recheck(lake_table, self._throttle)
        state = load(self._settings, table)
        if not state.last:
            if not self._rate or now_ms() - state.began_ms < INTERVAL_MS:
                return
            state.began_ms = now_ms()
        for result in scrub(lake_table, state, self._throttle):
            if result.is_checksum_new:
                log.info("checksum stored", extra={"table": result.table, "file": result.path})
            if self._stop.is_set():
                break
            if time.monotonic() - self._saved_at > SAVE_SECONDS:
                save(self._settings, table, state)
                self._saved_at = time.monotonic()
        save(self._settings, table, state)

    def _throttle(self, read: int) -> None:
        if self._rate:
            self._stop.wait(read / self._rate)


def load(settings: Settings, table: Table) -> ScrubState:
    """The stored state of one table's scrub; a new one when there is none."""
    try:
        return msgspec.json.decode(read_regular(_state_path(settings, table)), type=ScrubState)
    except (OSError, msgspec.DecodeError):
        return ScrubState()


def save(settings: Settings, table: Table, state: ScrubState) -> None:
    """Store the state; on a full disk the scrub only reads some files again."""
    path = _state_path(settings, table)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(state))
    except OSError as error:
        log.warning("scrub state not saved", extra={"reason": str(error)})


def _state_path(settings: Settings, table: Table) -> Path:
    return settings.data / STATE_FOLDER / f"{table.name}.json"


def _scrub_file(
    table: LakeTable, data_file: LiveDataFile, state: ScrubState, throttle: Throttle
) -> ScrubResult:
    stored_checksum = state.checksums.get(data_file.path)
    problem = _problem(table, data_file, stored_checksum, throttle)
    is_checksum_new = False
    if problem is None and stored_checksum is None and named_checksum(data_file.path) is None:
        with table.store.local_copy(data_file.path) as file:
            problem = decode_problem(file)
            if problem is None:
                state.checksums[data_file.path] = file_checksum(file)
                is_checksum_new = True
    if problem:
        report = DamagedFile(table.table.name, data_file.path, problem, data_file.rows)
        table.damage_reports.report(report, DAMAGE_CONSEQUENCE)
    return ScrubResult(table.table.name, data_file.path, data_file.size, problem, is_checksum_new)


def _problem(
    table: LakeTable,
    data_file: LiveDataFile,
    stored_checksum: str | None,
    throttle: Throttle | None,
) -> str | None:
    for is_last_try in (False, True):
        try:
            with table.store.local_copy(data_file.path) as file:
                problem = file_problem(file, data_file.size, stored_checksum, throttle)
        except FileNotFoundError:
            problem = "is missing"
        if problem is None or is_last_try:
            return problem
        time.sleep(0.1)  # replaced and vacuumed just now, or a transient error of the disk
        table.refresh()
        if data_file.path not in {file.path for file in live_data_files(table.handle, table.table)}:
            return None
    return None
