"""The numbers of a table come from one pass over its log."""

from pathlib import Path

import pytest

from schemas.lake.committed_offsets import app_id, log_source
from schemas.lake.delta_table import open_table
from schemas.lake.log_numbers import log_numbers
from schemas.tables import EVENTS
from stream.storage.delta_commit import LakeTable
from stream.storage.table_reader import TableReader
from tests.stream.builders import a_message, named, settings
from tests.stream.storage.partitions import BATCHES, PARTITIONS, a_writer, fill


def test_numbers_are_those_of_the_table_at_each_version(tmp_path: Path) -> None:
    config = settings(tmp_path)
    fill(config)
    LakeTable(config, EVENTS).handle.create_checkpoint()
    a_writer(config).write([a_message(BATCHES // PARTITIONS, named("b"))])
    newest = LakeTable(config, EVENTS).handle.version()

    for version in range(newest + 1):
        handle = open_table(config.lake_url, EVENTS, version)
        numbers = log_numbers(log_source(config.lake_url, EVENTS), version)
        assert handle is not None
        assert all(handle.transaction_version(name) == at for name, at in numbers.items())
        for partition in range(PARTITIONS + 1):
            name = app_id(1, "events", partition)
            assert numbers.get(name) == handle.transaction_version(name)
    reader = TableReader.open(config, EVENTS)
    assert reader is not None
    assert reader.number(app_id(1, "events", 0)) == BATCHES // PARTITIONS + 1


def test_numbers_whose_entries_are_gone_are_not_guessed(tmp_path: Path) -> None:
    config = settings(tmp_path)
    fill(config)
    log = tmp_path / "lake" / "events" / "_delta_log"
    (log / f"{3:020}.json").unlink()

    with pytest.raises(FileNotFoundError):
        log_numbers(log_source(config.lake_url, EVENTS), 5)
