"""The numbers of a table come from one pass over its log, for however many topic partitions."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.committed_offsets import app_id, log_source
from schemas.lake.delta_table import open_table
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.recovery.lost_rows import RowRecovery
from stream.storage.delta_commit import LakeTable
from stream.storage.log_numbers import log_numbers
from stream.storage.table_reader import TableReader
from tests.s3.request_counter import RequestCounter
from tests.s3.server import BUCKET
from tests.stream.builders import a_message, named, settings
from tests.stream.storage.partitions import BATCHES, PARTITIONS, a_writer, fill, one_of_each

MANY = range(1, 16)
"""Partitions of one batch."""


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


def test_a_batch_of_many_partitions_needs_no_more_requests_than_one_of_few(
    tmp_path: Path, counter: RequestCounter
) -> None:
    """Also after commits of another worker, whose log entries are read once each."""
    config = settings(tmp_path, lake=f"s3://{BUCKET}/tables")
    ours, theirs = a_writer(config), a_writer(config)
    ours.write(one_of_each(0, MANY))
    requests: list[int] = []
    for offset, partitions in enumerate((MANY, range(1, 2)), start=1):
        theirs.write([a_message(offset - 1, named("a"))])
        counter.requests.clear()
        ours.write(one_of_each(offset, partitions))
        requests.append(len(counter.requests))

    many, few = requests
    assert 0 < many <= few + 2, requests


def test_a_repair_reads_the_log_once_for_all_partitions_that_there_may_be(
    tmp_path: Path, counter: RequestCounter
) -> None:
    config = settings(tmp_path, lake=f"s3://{BUCKET}/tables")
    fill(config)
    recovery = RowRecovery(config, CUSTOM_EVENT, Lookups())
    entries = LakeTable(config, EVENTS).handle.version() + 1
    counter.requests.clear()

    end_offsets = recovery.end_offsets(config.ingest_epoch)

    assert end_offsets == {0: 4, 1: 4, 2: 4, PARTITIONS: 1}
    assert len(counter.requests) == entries + 1, counter.requests  # one lists the log
