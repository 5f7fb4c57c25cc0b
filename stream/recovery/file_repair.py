"""Replaces a damaged data file by rows recovered from Kafka.

One commit adds the rows and removes the file, so no query sees both or neither. Rows that Kafka no
longer has are lost: the ledger subtracts them (`stored` below 0, `dropped`) and the quarantine
names them, so that received = stored + duplicate + quarantined + dropped still holds. Both are
written first, with the path of the file as their key, so that a retry does not count twice.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError
from msgspec import Struct

from schemas.kinds import IMPORTED_EVENT, KINDS, TABLES, Kind, lake_tables
from schemas.lake.damage_reports import DamagedFile
from schemas.lake.data_files import file_problem
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER, QUARANTINE, Table
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
"""Folder of a table on a local disk for damaged files that were removed from it."""
DROP_REASON = "data file damaged"
MAX_ATTEMPTS = 5
REPAIR_ERRORS = (OSError, pa.ArrowException, DeltaError)
"""Raised by a full disk, an unreachable object store or a file that changes during the repair."""


class NotRepaired(Exception):
    """Nothing was changed; the message says why and what to do."""


class RepairResult(Struct, frozen=True):
    """Outcome for the rows of damaged files that were removed together."""

    files: Sequence[str]
    rows: int
    recovered: int
    duplicates: int
    """Rows whose item was sent again after the damage and stored then."""

    @property
    def lost(self) -> int:
        return self.rows - self.recovered - self.duplicates

    def __str__(self) -> str:
        error = f"{self.lost} are lost and noted as such" if self.lost else "none lost"
        return (
            f"removed: {', '.join(self.files)}; {self.recovered} of {self.rows} rows stored again "
            f"from Kafka, {error}"
        )


def repair(
    settings: Settings, subject: str, lookups: Lookups, accept_loss: bool = False
) -> RepairResult:
    """Repair `TABLE/PATH` and all other damaged data files of its table.

    NotRepaired when Kafka no longer has every row, unless the loss is accepted.
    """
    name, _, path = subject.partition("/")
    table = next((table for table in lake_tables() if table.name == name), None)
    if table is None:
        raise NotRepaired(f"there is no table '{name}'")
    lake_table, other_damage = LakeTable(settings, table), ""
    if table not in TABLES:
        _damaged(lake_table, path)  # reports it, so that the keeper leaves it out
        raise NotRepaired(f"table '{name}' is derived: the keeper computes the file again")
    for _ in range(MAX_ATTEMPTS):
        damaged = _damaged(lake_table, path)
        try:
            return _repair(settings, lake_table, damaged, lookups, accept_loss)
        except DamagedFileError as error:  # a further damaged file, which is reported now
            other_damage = str(error)
        except REPAIR_ERRORS as error:
            raise NotRepaired(f"{type(error).__name__}: {error}") from error
    raise NotRepaired(f"{other_damage}, and it is needed for this: repair that file first")


def _damaged(table: LakeTable, path: str) -> list[LiveDataFile]:
    """The named file and all others of the present version that are reported as damaged."""
    table.refresh()
    live = {data_file.path: data_file for data_file in live_data_files(table.handle, table.table)}
    if path not in live:
        raise NotRepaired(f"{path} is not in the present version of table '{table.table.name}'")
    recheck(table)
    if problem := _problem(table, live[path]):
        report = DamagedFile(table.table.name, path, problem, live[path].rows)
        table.damage_reports.report(report, DAMAGE_CONSEQUENCE)
    reports = table.damage_reports.of_table(table.table.name)
    damaged = [
        data_file for data_file in live.values() if data_file.path.rpartition("/")[2] in reports
    ]
    if path not in {data_file.path for data_file in damaged}:
        raise NotRepaired(f"{path} is not damaged")
    return damaged


def _problem(table: LakeTable, data_file: LiveDataFile) -> str | None:
    try:
        with table.store.local_copy(data_file.path) as file:
            return file_problem(file, data_file.size)
    except FileNotFoundError:
        return "is missing"


def _repair(
    settings: Settings,
    table: LakeTable,
    damaged: Sequence[LiveDataFile],
    lookups: Lookups,
    accept_loss: bool,
) -> RepairResult:
    rows = sum(file.rows for file in damaged)
    ranges = received_ranges(table)
    damaged_ranges = [ranges[file.path] for file in damaged]
    received = ReceivedRange(
        min(span.first_ms for span in damaged_ranges), max(span.last_ms for span in damaged_ranges)
    )
    recovered = _recover(settings, table, damaged, received, lookups)
    recovered_rows = recovered.rows.num_rows if recovered else 0
    duplicates = len(recovered.duplicates) if recovered else 0
    result = RepairResult([file.path for file in damaged], rows, recovered_rows, duplicates)
    if result.lost < 0:
        raise NotRepaired(
            f"Kafka has {recovered_rows + duplicates} rows that table '{table.table.name}' does "
            f"not have, and the damaged files had {rows}: resolve this by hand"
        )
    if result.lost and not accept_loss:
        still = f"Kafka still has {recovered_rows} of {rows} rows"
        raise NotRepaired(
            f"{still if recovered else 'its rows are in no topic that could be read again'}; "
            "restore the file from a backup, or give up the rest: "
            f"tidemark repair {table.table.name}/{damaged[0].path} --accept-loss"
        )
    _record_loss(settings, table.table, damaged, received, result, recovered)
    new_files: list[NewDataFile] = []
    if recovered:
        for day, rows_of_day in split_by_day(recovered.rows, received_column(table.table)):
            new_files.append(write_data_file(table.store, table.table, day, rows_of_day))
    table.replace_files({file.path: file.day.isoformat() for file in damaged}, new_files)
    for file in damaged:
        _move_damaged(table, file)
    recheck(table)
    log.warning("data files repaired", extra={"table": table.table.name, "result": str(result)})
    return result


def _recover(
    settings: Settings,
    table: LakeTable,
    damaged: Sequence[LiveDataFile],
    received: ReceivedRange,
    lookups: Lookups,
) -> RecoveredRows | None:
    kind = _item_kind(table.table, damaged)
    if kind is None or kind is IMPORTED_EVENT:
        return None  # side tables have no topic, and an import can be repeated from its file
    wanted = sum(file.rows for file in damaged)
    return recover_rows(settings, kind, lookups, table, received, wanted)


def _item_kind(table: Table, damaged: Sequence[LiveDataFile]) -> Kind | None:
    if any(file.is_imported for file in damaged):
        return IMPORTED_EVENT
    return next((kind for kind in KINDS if kind.table.name == table.name), None)


def _record_loss(
    settings: Settings,
    table: Table,
    damaged: Sequence[LiveDataFile],
    received: ReceivedRange,
    result: RepairResult,
    recovered: RecoveredRows | None,
) -> None:
    """Record in quarantine and ledger which rows are no longer stored; nothing when none is."""
    kind = _item_kind(table, damaged)
    if kind is None or not result.lost + result.duplicates:
        return
    topic, at_ms = settings.topic(kind.topic), received.first_ms
    lost_entry = QuarantineEntry(
        QuarantineStage.LOST,
        f"{result.lost} rows of data file {', '.join(result.files)} were lost: {DROP_REASON}",
        *(b"", at_ms, 0, 0, 0),
    )
    entries = [
        *(recovered.duplicates if recovered else ()),
        *([lost_entry] if result.lost else []),
    ]
    epoch = recovered.epoch if recovered else settings.ingest_epoch
    _commit_once(settings, QUARANTINE, damaged[0], quarantine_rows(topic, epoch, entries))
    subjects = {subject for file in damaged for subject in file.subjects or (None,)}
    ledger_row: dict[str, list[Any]] = {
        "subject_id": [subjects.pop() if len(subjects) == 1 else None],
        "ts": [at_ms // 3_600_000 * 3_600_000_000],
        "topic": [topic],
        **{name: [0] for name in ("kafka_partition", "kafka_offset", "seq", "received")},
        "stored": [-result.lost - result.duplicates],
        "duplicate": [result.duplicates],
        "quarantined": [0],
        "dropped": [result.lost],
        "drop_reason": [DROP_REASON if result.lost else None],
    }
    _commit_once(settings, LEDGER, damaged[0], arrow_table(LEDGER, ledger_row))


def _commit_once(settings: Settings, side: Table, damaged: LiveDataFile, rows: pa.Table) -> None:
    """Commit the rows to a side table, unless an earlier attempt has."""
    lake_table, name = LakeTable(settings, side), f"repair/{damaged.path}"
    if lake_table.next_offset(name) or not rows.num_rows:
        return
    new_files = [
        write_data_file(lake_table.store, side, day, rows_of_day)
        for day, rows_of_day in split_by_day(rows, received_column(side))
    ]
    lake_table.commit(new_files, {name: OffsetUpdate(0, 1)})


def _move_damaged(table: LakeTable, damaged: LiveDataFile) -> None:
    """Keep a damaged file of a local table for inspection."""
    if isinstance(table.store, LocalStorage):
        path: Path = table.store.root / damaged.path
        folder = table.store.root / DAMAGED_FOLDER
        folder.mkdir(exist_ok=True)
        if path.exists():
            path.rename(folder / path.name)
