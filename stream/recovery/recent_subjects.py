"""Subjects whose rows were stored lately, by the ledger, which is small however many rows exist."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from msgspec import Struct

from schemas.lake.delta_table import DataFile, open_table, read_version
from schemas.runtime.settings import Settings
from schemas.tables import CLICKS, LEDGER
from stream.storage.table_reader import read_batches
from stream.storage.table_schema import arrow_schema

COLUMNS = ("subject_id", "topic", "ts", "stored")
SCHEMA = pa.schema([arrow_schema(LEDGER).field(name) for name in COLUMNS])


class SubjectRows(Struct, frozen=True):
    """Number of stored rows of one subject."""

    subject_id: str
    rows: int
    last_ms: int
    """The hour in which the last row was received, Unix milliseconds."""


def recent_subjects(settings: Settings, since_day: str) -> Sequence[SubjectRows]:
    """Rows by website, or by organization without one; unreadable files are skipped."""
    handle = open_table(settings.lake_url, LEDGER)
    data_files = read_version(handle, LEDGER).data_files if handle else ()
    recent = [file for file in data_files if file.day >= since_day]
    if handle is None or not recent:
        return []
    rows = _read(handle, recent)
    rows = rows.filter(pc.not_equal(rows["topic"], settings.topic(CLICKS.name)))
    sums = rows.group_by("subject_id").aggregate([("stored", "sum"), ("ts", "max")])
    return [
        SubjectRows(row["subject_id"], row["stored_sum"], round(row["ts_max"].timestamp() * 1000))
        for row in sums.to_pylist()
        if row["subject_id"] and row["stored_sum"] > 0
    ]


def _read(handle: DeltaTable, files: Sequence[DataFile]) -> pa.Table:
    """The rows of these files; unreadable files are skipped."""
    try:
        return pa.Table.from_batches(read_batches(handle, LEDGER, files, COLUMNS), SCHEMA)
    except (OSError, pa.ArrowException):
        if len(files) == 1:
            return SCHEMA.empty_table()  # the check of data files reports it
    return pa.concat_tables([_read(handle, [file]) for file in files])
