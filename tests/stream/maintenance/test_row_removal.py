"""Rows of a main table are removed once, and the ledger agrees after a stop at any step."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import merge_files
from stream.maintenance.merge_plan import live_data_files
from stream.maintenance.row_removal import Removal, RemovedRows, remove_rows, removed_key, topic_of
from stream.recovery.ledger_balance import check_balance
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import NOON_MS, a_message, an_envelope, named, rows, settings
from tests.stream.writing.test_backfill_writer import a_backfill, lines


class Killed(Exception):
    """The process ended here."""


def removal_of(*names: str, reason: str = "erased") -> Removal:
    """Events of these names are removed, each by a cause of its name."""

    def causes(batch: pa.Table) -> pa.Array:
        is_removed = pc.is_in(batch["name"].combine_chunks(), pa.array(names, pa.string()))
        return pc.if_else(is_removed, batch["name"].combine_chunks(), pa.scalar(None, pa.string()))

    return Removal(reason, ["name"], causes)


def remove(config: Settings, removal: Removal, stop_after: str = "") -> RemovedRows:
    table, ledger = LakeTable(config, EVENTS), LakeTable(config, LEDGER)

    def on_step(step: str) -> None:
        if step == stop_after:
            raise Killed

    data_files = live_data_files(table.handle, EVENTS)
    return remove_rows(table, ledger, topic_of(config, EVENTS), data_files, removal, on_step)


def store(config: Settings) -> None:
    """Six events in three data files, two of them of website w2 and one of a later hour."""
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.write([a_message(0, named("a", "b", "a"))])
    later = an_envelope([{"name": "a"}], received_ms=NOON_MS + 3_600_000)
    writer.write([a_message(1, an_envelope([{"name": "b"}, {"name": "c"}], subject_id="w2"))])
    writer.write([a_message(2, later)])


def names(config: Settings) -> list[str]:
    return [name for (name,) in rows(config, EVENTS, "name")]


def corrections(config: Settings) -> list[tuple[object, ...]]:
    entries = rows(config, LEDGER, "subject_id", "stored", "dropped", "drop_reason")
    return [entry for entry in entries if entry[3] is not None]


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    config = settings(tmp_path)
    store(config)
    return config


def test_removed_rows_are_dropped_in_the_ledger_by_website_and_hour(config: Settings) -> None:
    removed = remove(config, removal_of("a"))

    assert removed == RemovedRows(Counter(a=3), 2)
    assert names(config) == ["b", "b", "c"]
    assert corrections(config) == [("w1", -2, 2, "erased"), ("w1", -1, 1, "erased")]
    assert list(check_balance(config)) == []


def test_files_without_the_rows_are_not_touched_and_emptied_ones_are_removed(
    config: Settings,
) -> None:
    table = LakeTable(config, EVENTS)
    before = {file.path: file.rows for file in live_data_files(table.handle, EVENTS)}

    remove(config, removal_of("a"))

    table.refresh()
    after = {file.path: file.rows for file in live_data_files(table.handle, EVENTS)}
    assert sorted(before.values()) == [1, 2, 3]
    assert sorted(after.values()) == [1, 2]
    assert [rows for path, rows in after.items() if path in before] == [2]


def test_a_removal_without_a_row_commits_nothing(config: Settings) -> None:
    version = LakeTable(config, LEDGER).handle.version()

    removed = remove(config, removal_of("nothing"))

    assert removed == RemovedRows(Counter(), 0)
    assert LakeTable(config, LEDGER).handle.version() == version


def test_rows_by_cause_are_counted_over_all_removals(config: Settings) -> None:
    remove(config, removal_of("a", "c"))
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write([a_message(3, named("a"))])
    remove(config, removal_of("a"))

    table = LakeTable(config, EVENTS)
    assert [table.next_offset(removed_key(name)) for name in "abc"] == [4, 0, 1]
    assert list(check_balance(config)) == []


@pytest.mark.parametrize(("step", "left"), [("ledger", 6), ("rewrite", 3)])
def test_a_removal_that_was_killed_is_balanced_before_and_after_its_repeat(
    config: Settings, step: str, left: int
) -> None:
    with pytest.raises(Killed):
        remove(config, removal_of("a"), stop_after=step)
    stopped = len(names(config)), list(check_balance(config))

    remove(config, removal_of("a"))

    assert stopped == (left, [])
    assert names(config) == ["b", "b", "c"]
    assert list(check_balance(config)) == []
    assert sum(int(str(stored)) for _, stored, *_ in corrections(config)) == -3


def test_after_a_kill_another_removal_takes_the_correction_back(config: Settings) -> None:
    for _ in range(2):
        with pytest.raises(Killed):
            remove(config, removal_of("a"), stop_after="ledger")

    remove(config, removal_of("c", reason="expired"))

    assert names(config) == ["a", "a", "a", "b", "b"]
    assert list(check_balance(config)) == []
    by_reason = Counter[str]()
    for _, stored, _, reason in corrections(config):
        by_reason[str(reason)] += int(str(stored))
    assert by_reason == Counter(erased=0, expired=-1)


def test_imported_rows_are_removed_without_a_correction(config: Settings) -> None:
    a_backfill(config.data).write([a_message(0, lines(1, 3, "i1"))])

    removed = remove(config, removal_of("e1", "e2", "b"))

    assert removed.rows == Counter(e1=1, e2=1, b=2)
    assert corrections(config) == [("w1", -1, 1, "erased"), ("w2", -1, 1, "erased")]
    assert list(check_balance(config)) == []


def test_the_ledger_agrees_after_its_compaction(config: Settings) -> None:
    remove(config, removal_of("a"))
    ledger = LakeTable(config, LEDGER)
    data_files = live_data_files(ledger.handle, LEDGER)
    day = data_files[0].day

    ledger.replace_same_rows(
        [file.path for file in data_files], merge_files(ledger, day, data_files), day.isoformat()
    )

    assert {file.is_imported for file in data_files} == {False}
    assert list(check_balance(config)) == []
