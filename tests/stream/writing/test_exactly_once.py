"""A batch that is repeated, split, written by two workers or interrupted is stored exactly once."""

from pathlib import Path

import pyarrow as pa
import pytest

from schemas.kinds import CLICK, CUSTOM_EVENT, WEB_VITAL
from schemas.tables import EVENTS, LEDGER, QUARANTINE, VITALS
from stream.enrich.pipeline import enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import to_arrow
from stream.rows.decoder import decode_batch
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import OffsetRange
from stream.runtime.errors import Fenced, OffsetGap
from stream.storage.delta_commit import Actions, LakeTable, OffsetUpdate, OffsetUpdates
from stream.storage.parquet_writer import write_data_file
from stream.writing.batch_writer import BatchWriter, WriteResult
from tests.stream.builders import NOON_MS, a_message, an_envelope, balance, named, rows, settings

STEPS = ("enrich", "quarantine", "ledger", "write", "commit")


class PowerCut(Exception):
    """The process is gone."""


def a_writer(folder: Path, dies_after: str = "") -> BatchWriter:
    def on_step(step: str) -> None:
        if step == dies_after:
            raise PowerCut(step)

    return BatchWriter(settings(folder), CUSTOM_EVENT, Lookups(), on_step)


def stored_names(folder: Path) -> list[tuple[object, ...]]:
    return rows(settings(folder), EVENTS, "name", "kafka_partition", "kafka_offset", "seq")


def test_a_batch_is_stored_with_the_identity_of_each_item(tmp_path: Path) -> None:
    batch = [
        a_message(0, named("a", "b"), named("c")),
        a_message(1, named("d")),
        a_message(0, named("e"), partition=3),
    ]

    assert a_writer(tmp_path).write(batch) == WriteResult(5, 0, {0: 2, 3: 1})
    assert stored_names(tmp_path) == [
        ("a", 0, 0, 0),
        ("b", 0, 0, 1),
        ("c", 0, 0, 2),
        ("d", 0, 1, 0),
        ("e", 3, 0, 0),
    ]


def test_a_replayed_batch_is_stored_once(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, named("a")), a_message(1, named("b"))])

    again = [a_message(0, named("a")), a_message(1, named("b")), a_message(2, named("c"))]

    assert writer.write(again) == WriteResult(1, 0, {0: 3})
    assert writer.write(again) == WriteResult(0, 0, {})
    assert [row[0] for row in stored_names(tmp_path)] == ["a", "b", "c"]


def test_a_click_with_the_key_of_an_earlier_one_is_stored_once(tmp_path: Path) -> None:
    config = settings(tmp_path)
    click = {"slug": "spring", "timestamp": NOON_MS, "anonymousId": "a"}
    keyed, other = (an_envelope([click], idempotency_key=key) for key in ("spool:a/0", "spool:a/1"))
    BatchWriter(config, CLICK, Lookups()).write([a_message(n, keyed) for n in range(2)])
    BatchWriter(config, CLICK, Lookups()).write([a_message(2, keyed), a_message(3, other)])

    assert rows(config, CLICK.table, "kafka_offset") == [(0,), (3,)]


def test_a_new_worker_starts_at_the_offsets_of_the_table(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, named("a")), a_message(1, named("b"))])

    later = a_writer(tmp_path)

    assert later.assign_partitions([0, 1]) == {0: 2, 1: 0}


@pytest.mark.parametrize("step", ["enrich", "write"])
def test_a_zombie_is_fenced_and_its_data_file_removed(tmp_path: Path, step: str) -> None:
    other = a_writer(tmp_path)

    def overtake(done: str) -> None:
        if done == step:
            other.write([a_message(0, named("a"))])

    zombie = BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups(), overtake)

    with pytest.raises(Fenced):
        zombie.write([a_message(0, named("a")), a_message(1, named("b"))])
    assert stored_names(tmp_path) == [("a", 0, 0, 0)]
    assert len(list((tmp_path / "lake" / "events").rglob("*.parquet"))) == 1

    other.write([a_message(1, named("b"))])
    assert balance(settings(tmp_path), LEDGER) == (2, 2, 0)


def test_a_commit_that_was_overtaken_between_check_and_write_is_fenced(tmp_path: Path) -> None:
    first = LakeTable(settings(tmp_path), EVENTS)
    second = LakeTable(settings(tmp_path), EVENTS)
    first.commit([], {"1/events/0": OffsetUpdate(0, 5)})

    with pytest.raises(Fenced):
        second.commit([], {"1/events/0": OffsetUpdate(0, 5)})


class UncertainCommit(LakeTable):
    """Reports a failure of the first commit although it succeeded, as a network may."""

    failures = 1

    def _write(self, actions: Actions, moves: OffsetUpdates) -> None:
        super()._write(actions, moves)
        if self.failures:
            self.failures -= 1
            raise OSError("no answer in time")


def test_a_commit_that_succeeded_without_an_answer_counts_and_keeps_its_file(
    tmp_path: Path,
) -> None:
    config = settings(tmp_path)
    table = UncertainCommit(config, EVENTS)
    part = write_data_file(table.store, EVENTS, "2026-11-21", one_row())

    table.commit([part], {"1/events/0": OffsetUpdate(0, 1)})

    assert rows(config, EVENTS, "name") == [("a",)]
    assert LakeTable(config, EVENTS).next_offset("1/events/0") == 1


def one_row() -> pa.Table:
    opened = decode_batch(CUSTOM_EVENT, [a_message(0, named("a"))], LedgerCounts({}))
    return to_arrow(enrich_rows(opened.rows, Lookups())[0])[0]


def test_workers_with_other_partitions_do_not_fence_each_other(tmp_path: Path) -> None:
    first, second = a_writer(tmp_path), a_writer(tmp_path)

    first.write([a_message(0, named("a"), partition=0)])
    second.write([a_message(0, named("b"), partition=1)])
    first.write([a_message(1, named("c"), partition=0)])

    assert [row[0] for row in stored_names(tmp_path)] == ["a", "b", "c"]


def test_two_workers_may_create_a_table_at_once(tmp_path: Path) -> None:
    first = LakeTable(settings(tmp_path), VITALS)
    second = LakeTable(settings(tmp_path), VITALS)

    first.commit([], {"1/vitals/0": OffsetUpdate(0, 1)})
    second.commit([], {"1/vitals/1": OffsetUpdate(0, 2)})
    first.refresh()

    assert (first.next_offset("1/vitals/0"), first.next_offset("1/vitals/1")) == (1, 2)


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_after_any_step_neither_loses_nor_duplicates_rows(
    tmp_path: Path, step: str
) -> None:
    bad = an_envelope([{"name": "good"}, {"name": 7}])
    batch = [a_message(0, named("a", "b")), a_message(1, bad), a_message(2, body=b"garbage")]
    with pytest.raises(PowerCut):
        a_writer(tmp_path, dies_after=step).write(batch)

    reborn = a_writer(tmp_path)
    reborn.write(batch[:2])  # batches need not be split as before
    reborn.write([batch[2], a_message(3, named("c"))])

    config = settings(tmp_path)
    assert [row[0] for row in stored_names(tmp_path)] == ["a", "b", "c", "good"]
    assert rows(config, QUARANTINE, "kafka_offset", "seq", "stage") == [
        (1, 1, "decode"),
        (2, 0, "decode"),
    ]
    assert balance(config, LEDGER) == (6, 4, 2)


def test_an_offset_gap_before_a_batch_ends_the_worker(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, named("a"))])

    with pytest.raises(OffsetGap, match="offset 5 came, 1 was expected"):
        writer.write([a_message(5, named("b"))])
    assert [row[0] for row in stored_names(tmp_path)] == ["a"]


def test_an_offset_gap_within_a_batch_ends_the_worker(tmp_path: Path) -> None:
    with pytest.raises(OffsetGap):
        a_writer(tmp_path).write([a_message(0, named("a")), a_message(2, named("b"))])
    assert stored_names(tmp_path) == []


def test_messages_that_kafka_deleted_are_quarantined_and_the_rest_is_stored(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.add_lost_range(0, OffsetRange(0, 5))
    columns = ("kafka_offset", "stage", "reason", "first_offset", "next_offset")

    assert writer.write([a_message(5, named("b"))]) == WriteResult(1, 1, {0: 6})
    assert rows(settings(tmp_path), QUARANTINE, *columns) == [
        (0, "lost", "messages 0 to 4 were gone from Kafka, unread", 0, 5)
    ]
    assert balance(settings(tmp_path), LEDGER) == (1, 1, 0)


def test_a_batch_over_midnight_is_one_commit_with_a_file_for_each_day(tmp_path: Path) -> None:
    midnight = NOON_MS + 12 * 3_600_000
    before = an_envelope([{"name": "a"}], received_ms=midnight - 1)
    after = an_envelope([{"name": "b"}], received_ms=midnight)

    a_writer(tmp_path).write([a_message(0, before, after)])

    table = LakeTable(settings(tmp_path), EVENTS)
    assert table.handle.version() == 1
    assert sorted(p["day"] for p in table.handle.partitions()) == ["2026-11-21", "2026-11-22"]


def test_each_kind_has_a_table_of_its_own(tmp_path: Path) -> None:
    vital = {"path": "https://a.example/x", "metricName": "LCP", "metricValue": 1234.56789}
    writer = BatchWriter(settings(tmp_path), WEB_VITAL, Lookups())

    writer.write([a_message(0, an_envelope([vital]))])

    actual = rows(settings(tmp_path), VITALS, "host", "path", "metric_name", "metric_value")
    assert [(h, p, n, str(v)) for h, p, n, v in actual] == [("a.example", "/x", "LCP", "1234.5679")]
