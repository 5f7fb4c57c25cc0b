"""The scrub: every data file is compared with its checksum, a few megabytes a second, once a day.

Disks return wrong bytes without an error, and readers would answer wrong numbers. A file whose name
holds no checksum is decoded as a whole the first time; its checksum is noted, and holds then.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.lake.damage_reports import DamagedFile
from schemas.lake.data_files import file_checksum, file_problem, named_checksum
from schemas.lake.delta_log import LOG_FOLDER
from schemas.lake.delta_table import UnreadableTable, open_table
from schemas.runtime.clock import now_ms
from schemas.runtime.files import write_atomically
from schemas.runtime.settings import Settings
from schemas.tables import TABLES, Table
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.verification import DAMAGE_CONSEQUENCE, decode_problem
from stream.storage.delta_commit import LakeTable

log = logging.getLogger(__name__)

STATE_FOLDER = "scrub"
INTERVAL_MS = 24 * 3_600_000
"""A round begins this long after the one before began, or when that has ended at last."""
POLL_SECONDS = 10.0
SAVE_SECONDS = 2.0
MEGABYTE = 1_048_576

Throttle = Callable[[int], None]
"""Told of each stretch of bytes that was read; it may take its time."""


class ScrubResult(Struct, frozen=True):
    """One data file that was read, or the log of a table that cannot be opened."""

    table: str
    path: str
    size: int
    problem: str | None
    is_checksum_new: bool = False
    """Whether its checksum was taken now, because it had none."""


class ScrubState(Struct):
    """How far the scrub of one table is; survives restarts."""

    last: str = ""
    """The path up to which this round has come, in their order."""
    began_ms: int = 0
    ended_ms: int = 0
    checksums: dict[str, str] = {}
    """Of files whose name holds none."""


def scrub(table: LakeTable, state: ScrubState, pace: Throttle) -> Iterator[ScrubResult]:
    """The rest of a round, file by file; damage is noted, and forgotten where it is gone."""
    table.refresh()
    found = sorted(live_data_files(table.handle, table.table), key=lambda piece: piece.path)
    live = {piece.path for piece in found}
    state.checksums = {path: told for path, told in state.checksums.items() if path in live}
    for piece in found:
        if piece.path > state.last:
            yield _scrub_file(table, piece, state, pace)
            state.last = piece.path
    state.last, state.ended_ms = "", now_ms()


def recheck(table: LakeTable, pace: Throttle | None = None) -> None:
    """Take back notes about files that are well again, or that no version names any more."""
    noted = table.damage_reports.of_table(table.table.name)
    if not noted:
        return
    table.refresh()
    live = {piece.path: piece for piece in live_data_files(table.handle, table.table)}
    for note in noted.values():
        piece = live.get(note.path)
        if piece is None or _problem(table, piece, None, pace) is None:
            table.damage_reports.clear(note)
            how = "it is well again" if piece else "no version names it any more"
            log.info("damage is over", extra={"file": note.path, "how": how})


def scrub_all(settings: Settings, pace: Throttle = lambda read: None) -> Iterator[ScrubResult]:  # noqa: ARG005
    """A whole round over all tables, now; one that cannot be opened keeps no other one waiting."""
    for table in TABLES:
        try:
            if open_table(settings.lake_url, table) is None:
                continue
            opened = LakeTable(settings, table)
        except UnreadableTable as damaged:
            yield ScrubResult(table.name, LOG_FOLDER, 0, f"cannot be opened ({damaged})")
            continue
        state = load(settings, table)
        state.last = ""
        yield from scrub(opened, state, pace)
        recheck(opened, pace)
        save(settings, table, state)


class Scrubber:
    """The keeper's scrub, in a thread of its own; it waits more than it reads."""

    def __init__(self, settings: Settings, stop: threading.Event) -> None:
        self._settings = settings
        self._stop = stop
        self._tables: dict[str, LakeTable] = {}
        self._saved = 0.0
        self._rate = settings.scrub_mb * MEGABYTE

    def run_cycle(self, table: Table) -> None:
        """What is due for one table."""
        if table.name not in self._tables:
            if open_table(self._settings.lake_url, table) is None:
                return
            self._tables[table.name] = LakeTable(self._settings, table)
        opened = self._tables[table.name]
        recheck(opened, self._pace)
        state = load(self._settings, table)
        if not state.last:
            if not self._rate or now_ms() - state.began_ms < INTERVAL_MS:
                return
            state.began_ms = now_ms()
        for done in scrub(opened, state, self._pace):
            if done.is_checksum_new:
                log.info("checksum noted", extra={"table": done.table, "file": done.path})
            if self._stop.is_set():
                break
            if time.monotonic() - self._saved > SAVE_SECONDS:
                save(self._settings, table, state)
                self._saved = time.monotonic()
        save(self._settings, table, state)

    def _pace(self, read: int) -> None:
        if self._rate:
            self._stop.wait(read / self._rate)


def load(settings: Settings, table: Table) -> ScrubState:
    """The state of one table's scrub."""
    try:
        return msgspec.json.decode(_file(settings, table).read_bytes(), type=ScrubState)
    except (OSError, msgspec.DecodeError):
        return ScrubState()


def save(settings: Settings, table: Table, state: ScrubState) -> None:
    """Keep it; a disk that is full now only makes the scrub read some files again."""
    target = _file(settings, table)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, msgspec.json.encode(state))
    except OSError as full:
        log.warning("scrub not noted", extra={"reason": str(full)})


def _file(settings: Settings, table: Table) -> Path:
    return settings.data / STATE_FOLDER / f"{table.name}.json"


def _scrub_file(
    table: LakeTable, piece: LiveDataFile, state: ScrubState, pace: Throttle
) -> ScrubResult:
    known = state.checksums.get(piece.path)
    problem = _problem(table, piece, known, pace)
    adopted = False
    if problem is None and known is None and named_checksum(piece.path) is None:
        with table.store.local_copy(piece.path) as file:
            problem = decode_problem(file)
            if problem is None:
                state.checksums[piece.path] = file_checksum(file)
                adopted = True
    if problem:
        note = DamagedFile(table.table.name, piece.path, problem, piece.rows)
        table.damage_reports.report(note, DAMAGE_CONSEQUENCE)
    return ScrubResult(table.table.name, piece.path, piece.size, problem, adopted)


def _problem(
    table: LakeTable, piece: LiveDataFile, known: str | None, pace: Throttle | None
) -> str | None:
    for last in (False, True):
        try:
            with table.store.local_copy(piece.path) as file:
                problem = file_problem(file, piece.size, known, pace)
        except FileNotFoundError:
            problem = "is missing"
        if problem is None or last:
            return problem
        time.sleep(0.1)  # replaced and vacuumed at this very moment, or a disk that hesitates
        table.refresh()
        if piece.path not in {one.path for one in live_data_files(table.handle, table.table)}:
            return None
    return None
