"""Numbers of a table: never those of another version, whoever commits."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.recovery.lost_rows import RowRecovery
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from tests.s3.request_counter import RequestCounter
from tests.s3.server import BUCKET
from tests.stream.builders import a_message, named, settings
from tests.stream.storage.partitions import PARTITIONS, a_writer, fill, one_of_each

MANY = range(1, 16)
"""Partitions of one batch."""


def a_table(folder: Path) -> LakeTable:
    return LakeTable(Settings(data_dir=str(folder)), EVENTS)


def move(table: LakeTable, name: str, expected: int, next_: int) -> None:
    """Commit one number."""
    table.commit([], {name: OffsetUpdate(expected, next_)})


def test_own_commits_and_those_of_others_are_seen_after_a_refresh(tmp_path: Path) -> None:
    ours, theirs = a_table(tmp_path), a_table(tmp_path)
    assert (ours.next_offset("a"), ours.next_offset("b")) == (0, 0)

    move(ours, "a", 0, 3)
    ours.refresh()
    assert (ours.next_offset("a"), ours.next_offset("b")) == (3, 0)

    theirs.refresh()
    move(theirs, "b", 0, 5)
    ours.refresh()
    assert (ours.next_offset("a"), ours.next_offset("b")) == (3, 5)


def test_a_commit_of_another_writer_before_or_after_ours_is_not_missed(tmp_path: Path) -> None:
    ours, theirs = a_table(tmp_path), a_table(tmp_path)
    assert (ours.next_offset("a"), ours.next_offset("b")) == (0, 0)

    move(theirs, "b", 0, 5)
    move(ours, "a", 0, 3)
    ours.refresh()
    assert (ours.next_offset("a"), ours.next_offset("b")) == (3, 5)

    move(ours, "a", 3, 4)
    theirs.refresh()
    move(theirs, "b", 5, 6)
    ours.refresh()
    assert (ours.next_offset("a"), ours.next_offset("b")) == (4, 6)


def test_numbers_that_were_not_read_before_a_commit_are_those_after_it(tmp_path: Path) -> None:
    ours = a_table(tmp_path)
    for number in range(3):
        move(ours, "a", number, number + 1)
        ours.refresh()
        move(ours, "b", number, number + 1)
        ours.refresh()

    assert (ours.next_offset("a"), ours.next_offset("b")) == (3, 3)
    assert ours.next_offset("a") == a_table(tmp_path).next_offset("a")


def test_a_failed_commit_leaves_no_number(tmp_path: Path) -> None:
    ours, theirs = a_table(tmp_path), a_table(tmp_path)
    assert ours.next_offset("a") == theirs.next_offset("a") == 0
    move(theirs, "a", 0, 7)

    with pytest.raises(Fenced):
        move(ours, "a", 0, 3)
    ours.refresh()
    assert ours.next_offset("a") == 7


def test_entries_that_were_cleaned_up_meanwhile_are_read_from_the_checkpoint(
    tmp_path: Path,
) -> None:
    ours, theirs = a_table(tmp_path), a_table(tmp_path)
    assert ours.next_offset("a") == 0
    for number in range(3):
        move(theirs, "a", number, number + 1)
        theirs.refresh()
    ours.refresh()
    theirs.handle.create_checkpoint()
    for entry in (tmp_path / "lake" / "events" / "_delta_log").glob("*.json"):
        entry.unlink()

    assert ours.next_offset("a") == 3


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
    # One asks for the last checkpoint, one lists the log.
    assert len(counter.requests) == entries + 2, counter.requests
