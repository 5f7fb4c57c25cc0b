"""A table is read with as many requests as its log and its data files need, and no more."""

from pathlib import Path

import pytest

from schemas.kinds import KINDS, lake_tables
from schemas.tables import EVENTS, LEDGER
from stream.recovery.ledger_balance import check_balance
from stream.recovery.recent_subjects import recent_subjects
from stream.storage.delta_commit import LakeTable
from tests.s3.request_counter import RequestCounter
from tests.s3.server import BUCKET
from tests.stream.builders import settings
from tests.stream.storage.partitions import BATCHES, fill


@pytest.mark.long
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


@pytest.mark.long
def test_the_registry_check_reads_the_ledger_once(tmp_path: Path, counter: RequestCounter) -> None:
    config = settings(tmp_path, lake=f"s3://{BUCKET}/tables")
    fill(config)
    ledger = LakeTable(config, LEDGER).handle
    counter.requests.clear()

    (subject,) = recent_subjects(config, "2026-11-01")

    assert (subject.subject_id, subject.rows) == ("w1", BATCHES)
    most = 2 * (ledger.version() + 1) + 2 * len(ledger.file_uris()) + 3
    assert len(counter.requests) <= most, counter.requests
