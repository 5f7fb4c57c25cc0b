"""Compaction of data files that are older than a column of their table."""

from pathlib import Path

import pyarrow.parquet as pq

from schemas.kinds import ERROR_REPORT
from schemas.tables import ERRORS, EVENTS, Table
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import (
    a_message,
    an_envelope,
    replace_data_file,
    rows,
    settings,
    version,
)
from tests.stream.maintenance.test_compaction import fill


def table_without(table: Table, *columns: str) -> Table:
    """The table as it was before some columns."""
    return Table(
        table.name,
        tuple(each for each in table.columns if each.name not in columns),
        tuple(name for name in table.sort_order if name not in columns),
    )


def events_without(column: str) -> Table:
    """The table of events as it was before a column."""
    return table_without(EVENTS, column)


def test_a_column_that_is_younger_than_the_parts_is_null(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    fill(config, 3)
    table = LakeTable(config, EVENTS)
    for part in version(config, EVENTS).data_files:
        held = pq.read_table(part.path, partitioning=None).drop_columns(["click_id"])
        replace_data_file(table, part, held)

    compact(table, config)

    assert set(rows(config, EVENTS, "click_id")) == {(None,)}
    assert len(rows(config, EVENTS, "name")) == 30


def test_a_table_grows_by_columns_that_are_younger_than_it(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    LakeTable(config, events_without("click_id"))
    fill(config, 2)

    compact(LakeTable(config, EVENTS), config)

    names = [field.name for field in LakeTable(config, EVENTS).handle.schema().fields]
    assert sorted(names) == sorted(column.name for column in EVENTS.columns)
    assert len(rows(config, EVENTS, "click_id")) == 20


def test_errors_of_before_releases_are_compacted_with_those_of_today(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    LakeTable(config, table_without(ERRORS, "release", "properties"))
    report = {"message": "boom", "release": "2.4.1", "properties": {"items": 3.0}}
    for offset in range(2):
        writer = BatchWriter(config, ERROR_REPORT, Lookups())
        writer.write([a_message(offset, an_envelope([report]))])
    table = LakeTable(config, ERRORS)
    first = version(config, ERRORS).data_files[0]
    held = pq.read_table(first.path, partitioning=None).drop_columns(["release", "properties"])
    replace_data_file(table, first, held)

    compact(table, config)

    assert sorted(rows(config, ERRORS, "release", "properties"), key=repr) == [
        ("2.4.1", '{"items":3}'),
        (None, None),
    ]
    assert len(version(config, ERRORS).data_files) == 1


def test_rows_of_before_epochs_were_told_are_compacted_with_those_of_today(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    LakeTable(config, events_without("epoch"))
    fill(config, 2)
    table = LakeTable(config, EVENTS)
    first = version(config, EVENTS).data_files[0]
    held = pq.read_table(first.path, partitioning=None).drop_columns(["epoch"])
    replace_data_file(table, first, held)
    here = rows(config, EVENTS, "kafka_partition", "kafka_offset", "seq", "epoch")
    assert [epoch for *_, epoch in here].count(None) == 10

    parts = {part.path for part in version(config, EVENTS).data_files}

    compact(table, config)

    assert not parts & {part.path for part in version(config, EVENTS).data_files}
    assert rows(config, EVENTS, "kafka_partition", "kafka_offset", "seq", "epoch") == here
