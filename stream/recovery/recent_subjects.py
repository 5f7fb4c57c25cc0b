"""Subjects whose rows were stored lately, by the ledger, which is small however many rows exist."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from schemas.lake.delta_table import DataFile, open_table, read_version
from schemas.runtime.settings import Settings
from schemas.tables import CLICKS, LEDGER

COLUMNS = ["subject_id", "topic", "ts", "stored"]


class SubjectRows(Struct, frozen=True):
    """Number of stored rows of one subject."""

    subject_id: str
    rows: int
    last_ms: int
    """The hour in which the last row was received, Unix milliseconds."""


def recent_subjects(settings: Settings, since_day: str) -> Sequence[SubjectRows]:
    """By website, or organization where the sender named none; unreadable files are skipped."""
    handle = open_table(settings.lake_url, LEDGER)
    data_files = read_version(handle, LEDGER).data_files if handle else ()
    tables = [rows for file in data_files if file.day >= since_day and (rows := _read(file))]
    if not tables:
        return []
    rows = pa.concat_tables(tables, promote_options="permissive")
    rows = rows.filter(pc.not_equal(rows["topic"], settings.topic(CLICKS.name)))
    sums = rows.group_by("subject_id").aggregate([("stored", "sum"), ("ts", "max")])
    return [
        SubjectRows(row["subject_id"], row["stored_sum"], round(row["ts_max"].timestamp() * 1000))
        for row in sums.to_pylist()
        if row["subject_id"] and row["stored_sum"] > 0
    ]


def _read(file: DataFile) -> pa.Table | None:
    try:
        return pq.read_table(file.path, columns=COLUMNS, partitioning=None)
    except (OSError, pa.ArrowException):
        return None  # the check of data files reports it
