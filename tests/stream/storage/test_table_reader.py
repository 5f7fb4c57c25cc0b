"""A table is read with as many requests as its log and its data files need, and no more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT, KINDS, lake_tables
from schemas.lake.committed_offsets import app_id, log_source
from schemas.lake.delta_table import open_table
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER
from stream.enrich.rules.lookups import Lookups
from stream.recovery.ledger_balance import check_balance
from stream.recovery.recent_subjects import recent_subjects
from stream.storage.delta_commit import LakeTable
from stream.storage.log_numbers import log_numbers
from stream.storage.table_reader import TableReader
from stream.writing.batch_writer import BatchWriter
from tests.s3.request_counter import RequestCounter
from tests.s3.server import BUCKET, S3Server
from tests.stream.builders import a_message, named, settings

BATCHES = 12
PARTITIONS = 3


def fill(config: Settings, batches: int = BATCHES) -> None:
    """Batches of one event each, in turn of several partitions, and one garbage message."""
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    for number in range(batches):
        offset, partition = divmod(number, PARTITIONS)
        writer.write([a_message(offset, named("a"), partition=partition)])
    writer.write([a_message(0, partition=PARTITIONS, body=b"garbage")])


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RequestCounter]:
    """A lake in an object store, whose requests are counted."""
    with S3Server(tmp_path / "s3") as server, RequestCounter(server.port) as counter:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", counter.endpoint)
        yield counter


def test_numbers_are_those_of_the_table_at_each_version(tmp_path: Path) -> None:
    config = settings(tmp_path)
    fill(config)
    LakeTable(config, EVENTS).handle.create_checkpoint()
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.write([a_message(BATCHES // PARTITIONS, named("b"))])
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


def test_the_balance_needs_few_requests_for_an_entry_and_a_file(
    tmp_path: Path, counter: RequestCounter
) -> None:
    """Three for an entry: two of deltalake, one for the numbers; two for a file of rows."""
    config = settings(tmp_path, lake=f"s3://{BUCKET}/tables")
    fill(config)
    names = ("events", "ledger", "quarantine")
    tables = [LakeTable(config, table) for table in lake_tables() if table.name in names]
    entries = sum(table.handle.version() + 1 for table in tables)
    files = sum(len(table.handle.file_uris()) for table in tables if table.table != EVENTS)
    counter.requests.clear()

    assert list(check_balance(config)) == []

    listings = 3 * len(KINDS) + 3 * 2
    assert entries > BATCHES < files
    assert len(counter.requests) <= 3 * entries + 2 * files + listings, counter.requests
    assert {method for method, _ in counter.requests} <= {"GET", "HEAD"}


def test_the_registry_check_reads_the_ledger_once(tmp_path: Path, counter: RequestCounter) -> None:
    config = settings(tmp_path, lake=f"s3://{BUCKET}/tables")
    fill(config)
    ledger = LakeTable(config, LEDGER).handle
    counter.requests.clear()

    (subject,) = recent_subjects(config, "2026-11-01")

    assert (subject.subject_id, subject.rows) == ("w1", BATCHES)
    most = 2 * (ledger.version() + 1) + 2 * len(ledger.file_uris()) + 3
    assert len(counter.requests) <= most, counter.requests
