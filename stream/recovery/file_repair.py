"""A damaged data file leaves its table: what Kafka still has of its rows is stored again, once.

The rows come in the same commit in which the file goes, so no question sees both or neither. What
Kafka has no more is lost; the ledger takes it back (`stored` below 0, `dropped`) and the quarantine
says so, so that received = stored + duplicate + quarantined + dropped goes on to hold. They are
written first, under a name of the file, and leave out what an earlier try has written.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct

from schemas.kinds import IMPORTED_EVENT, KINDS, Kind
from schemas.lake.damage_reports import DamagedFile
from schemas.lake.data_files import file_problem
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE, TABLES, Table
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.scrub import recheck
from stream.maintenance.verification import DAMAGE_CONSEQUENCE, DamagedFileError
from stream.recovery.lost_rows import ReceivedRange, RecoveredRows, received_ranges, recover_rows
from stream.rows.arrow_tables import arrow_table, received_column, split_by_day
from stream.rows.quarantine import QuarantineEntry, QuarantineStage, quarantine_rows
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.object_store import LocalStorage
from stream.storage.parquet_writer import NewDataFile, write_data_file

log = logging.getLogger(__name__)

DAMAGED_FOLDER = "_damaged"
"""Where files are moved that were taken out of a table on a local disk."""
DROP_REASON = "data file damaged"
MAX_ATTEMPTS = 5


class NotRepaired(Exception):
    """Nothing was changed; the message says why, and what can be done."""


class RepairResult(Struct, frozen=True):
    """What became of the rows of damaged files that were taken out together."""

    files: Sequence[str]
    rows: int
    recovered: int
    duplicates: int
    """Of them sent again after the damage and stored then."""

    @property
    def lost(self) -> int:
        return self.rows - self.recovered - self.duplicates

    def __str__(self) -> str:
        gone = f"{self.lost} are lost and noted as such" if self.lost else "none is lost"
        return (
            f"{', '.join(self.files)} taken out: {self.recovered} of {self.rows} rows stored again "
            f"from Kafka, {gone}"
        )


def repair(
    settings: Settings, subject: str, lookups: Lookups, accept_loss: bool = False
) -> RepairResult:
    """Take the damaged data files of a table out, beginning with `TABLE/PATH`.

    NotRepaired when Kafka does not give back every row, unless the loss is accepted.
    """
    name, _, path = subject.partition("/")
    table = next((one for one in TABLES if one.name == name), None)
    if table is None:
        raise NotRepaired(f"there is no table '{name}'")
    opened = LakeTable(settings, table)
    for _ in range(MAX_ATTEMPTS):
        bad = _damaged(opened, path)
        try:
            return _repair(settings, opened, bad, lookups, accept_loss)
        except DamagedFileError:  # another file is, too: now it is noted
            continue
    raise NotRepaired("more and more data files are damaged; restore the lake from a backup")


def _damaged(table: LakeTable, path: str) -> list[LiveDataFile]:
    """The named file and all that are noted, of those that are live and damaged indeed."""
    table.refresh()
    live = {piece.path: piece for piece in live_data_files(table.handle, table.table)}
    if path not in live:
        raise NotRepaired(f"{path} is in no version of table '{table.table.name}' any more")
    recheck(table)
    if problem := _problem(table, live[path]):
        note = DamagedFile(table.table.name, path, problem, live[path].rows)
        table.damage_reports.report(note, DAMAGE_CONSEQUENCE)
    noted = table.damage_reports.of_table(table.table.name)
    bad = [piece for piece in live.values() if piece.path.rpartition("/")[2] in noted]
    if path not in {piece.path for piece in bad}:
        raise NotRepaired(f"{path} is whole")
    return bad


def _problem(table: LakeTable, piece: LiveDataFile) -> str | None:
    try:
        with table.store.local_copy(piece.path) as file:
            return file_problem(file, piece.size)
    except FileNotFoundError:
        return "is missing"


def _repair(
    settings: Settings,
    table: LakeTable,
    bad: Sequence[LiveDataFile],
    lookups: Lookups,
    accept_loss: bool,
) -> RepairResult:
    rows = sum(piece.rows for piece in bad)
    received = received_ranges(table)
    own = [received[piece.path] for piece in bad]
    span = ReceivedRange(min(one.first_ms for one in own), max(one.last_ms for one in own))
    found = _recover(settings, table, bad, span, lookups)
    recovered = found.rows.num_rows if found else 0
    copies = len(found.duplicates) if found else 0
    done = RepairResult([piece.path for piece in bad], rows, recovered, copies)
    if done.lost < 0:
        raise NotRepaired(
            f"Kafka has {recovered + copies} rows that table '{table.table.name}' does not hold, "
            f"and the damaged files held {rows}: this needs a person"
        )
    if done.lost and not accept_loss:
        raise NotRepaired(
            f"Kafka gives back {recovered} of {rows} rows; put the file back from a backup, or "
            f"give up the rest: tidemark repair {table.table.name}/{bad[0].path} --accept-loss"
        )
    _record_loss(settings, table.table, bad, span, done, found)
    parts: list[NewDataFile] = []
    if found:
        for day, of_day in split_by_day(found.rows, received_column(table.table)):
            parts.append(write_data_file(table.store, table.table, day, of_day))
    table.replace_files({piece.path: piece.day.isoformat() for piece in bad}, parts)
    for piece in bad:
        _move_damaged(table, piece)
    recheck(table)
    log.warning("data files repaired", extra={"table": table.table.name, "what": str(done)})
    return done


def _recover(
    settings: Settings,
    table: LakeTable,
    bad: Sequence[LiveDataFile],
    span: ReceivedRange,
    lookups: Lookups,
) -> RecoveredRows | None:
    kind = _item_kind(table.table, bad)
    if kind is None or kind is IMPORTED_EVENT:
        return None  # side tables have no topic of their own, and imports can be made again
    wanted = sum(piece.rows for piece in bad)
    return recover_rows(settings, kind, lookups, table, span, wanted)


def _item_kind(table: Table, bad: Sequence[LiveDataFile]) -> Kind | None:
    if any(piece.is_imported for piece in bad):
        return IMPORTED_EVENT
    return next((kind for kind in KINDS if kind.table.name == table.name), None)


def _record_loss(
    settings: Settings,
    table: Table,
    bad: Sequence[LiveDataFile],
    span: ReceivedRange,
    done: RepairResult,
    found: RecoveredRows | None,
) -> None:
    """Note what is not stored any more; nothing when everything came back."""
    kind = _item_kind(table, bad)
    if kind is None or not done.lost + done.duplicates:
        return
    topic, at_ms = settings.topic(kind.topic), span.first_ms
    note = QuarantineEntry(
        QuarantineStage.LOST,
        f"{done.lost} rows of data file {', '.join(done.files)} were lost: {DROP_REASON}",
        *(b"", at_ms, 0, 0, 0),
    )
    notes = [*(found.duplicates if found else ()), *([note] if done.lost else [])]
    epoch = found.epoch if found else settings.ingest_epoch
    _commit_once(settings, QUARANTINE, bad[0], quarantine_rows(topic, epoch, notes))
    subjects = {subject for piece in bad for subject in piece.subjects or (None,)}
    entry: dict[str, list[Any]] = {
        "subject_id": [subjects.pop() if len(subjects) == 1 else None],
        "ts": [at_ms // 3_600_000 * 3_600_000_000],
        "topic": [topic],
        **{name: [0] for name in ("kafka_partition", "kafka_offset", "seq", "received")},
        "stored": [-done.lost - done.duplicates],
        "duplicate": [done.duplicates],
        "quarantined": [0],
        "dropped": [done.lost],
        "drop_reason": [DROP_REASON if done.lost else None],
    }
    _commit_once(settings, LEDGER, bad[0], arrow_table(LEDGER, entry))


def _commit_once(settings: Settings, side: Table, piece: LiveDataFile, rows: pa.Table) -> None:
    """Commit the rows beside, unless a try before has."""
    opened, name = LakeTable(settings, side), f"repair/{piece.path}"
    if opened.next_offset(name) or not rows.num_rows:
        return
    parts = [
        write_data_file(opened.store, side, day, of_day)
        for day, of_day in split_by_day(rows, received_column(side))
    ]
    opened.commit(parts, {name: OffsetUpdate(0, 1)})


def _move_damaged(table: LakeTable, piece: LiveDataFile) -> None:
    """Keep what is left of a file, for who wants to look into it."""
    if isinstance(table.store, LocalStorage):
        file: Path = table.store.root / piece.path
        aside = table.store.root / DAMAGED_FOLDER
        aside.mkdir(exist_ok=True)
        if file.exists():
            file.rename(aside / file.name)
