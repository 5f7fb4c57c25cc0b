"""Quarantine tables of older versions get the columns of lost ranges, and keep their rows."""

import json
from pathlib import Path

import deltalake
import pyarrow as pa

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.lost_ranges import lost_messages_reason, lost_offsets
from schemas.lake.table_location import table_url
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.rows.quarantine import OffsetRange, lost_range_entry, quarantine_rows
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.parquet_writer import write_data_file
from stream.storage.table_schema import DAY_COLUMN, delta_schema
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, named, rows, settings

NEW_COLUMNS = {"first_offset", "next_offset"}
COLUMNS = ("kafka_offset", "first_offset", "next_offset", "reason")


def an_old_quarantine(config: Settings) -> None:
    """A quarantine table as it was before the columns, with one lost range."""
    url = table_url(config.lake_url, QUARANTINE)
    fields = [field for field in delta_schema(QUARANTINE).fields if field.name not in NEW_COLUMNS]
    deltalake.DeltaTable.create(url, deltalake.Schema(fields), partition_by=[DAY_COLUMN])
    old_rows = quarantine_rows("events", 0, [lost_range_entry(0, OffsetRange(0, 5), NOON_MS)])
    old_rows = old_rows.drop_columns(sorted(NEW_COLUMNS))
    days = pa.array(["2026-11-21"] * old_rows.num_rows).cast(pa.date32())
    deltalake.write_deltalake(url, old_rows.append_column(DAY_COLUMN, days), mode="append")


def test_an_old_table_gets_the_columns_and_its_rows_stay_readable(tmp_path: Path) -> None:
    config = settings(tmp_path)
    an_old_quarantine(config)

    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.add_lost_range(0, OffsetRange(0, 7))
    writer.write([a_message(7, named("a"))])

    stored = rows(config, QUARANTINE, *COLUMNS)
    assert sorted(stored, key=lambda row: str(row[1])) == [
        (0, 0, 7, lost_messages_reason(0, 7)),
        (0, None, None, lost_messages_reason(0, 5)),
    ]
    assert {lost_offsets(*row[1:]) for row in stored} == {range(7), range(5)}


def test_files_with_and_without_the_columns_are_in_one_table(tmp_path: Path) -> None:
    config = settings(tmp_path)
    an_old_quarantine(config)
    table = LakeTable(config, QUARANTINE)
    entry = lost_range_entry(1, OffsetRange(2, 4), NOON_MS)

    new_file = write_data_file(
        table.store, QUARANTINE, "2026-11-21", quarantine_rows("events", 0, [entry])
    )
    table.commit([new_file], {"test": OffsetUpdate(0, 1)})

    names = {field["name"] for field in json.loads(table.handle.schema().to_json())["fields"]}
    assert names >= NEW_COLUMNS
    assert len(rows(config, QUARANTINE, *COLUMNS)) == 2
