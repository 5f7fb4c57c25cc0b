"""A retry counts once, by the id of the item or of its request, whatever is received between."""

from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import Envelope
from schemas.kinds import CUSTOM_EVENT, WEB_VITAL
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.state.id_index import MemoryBudget
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter, WriteResult
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings

HOUR_MS = 3_600_000


def sent(*ids: str | None, **envelope: Any) -> Envelope:
    """An envelope of events with these ids."""
    items = [{"name": f"n-{i}", **({} if i is None else {"eventId": i})} for i in ids]
    return an_envelope(items, **envelope)


def a_writer(folder: Path) -> BatchWriter:
    return BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())


def stored(folder: Path) -> list[tuple[object, ...]]:
    return rows(settings(folder), EVENTS, "event_id", "kafka_partition", "kafka_offset", "seq")


def sums(folder: Path) -> tuple[int, int, int, int]:
    """The ledger's sums: received, stored, duplicate, quarantined."""
    actual = rows(settings(folder), LEDGER, "received", "stored", "duplicate", "quarantined")
    received, kept, duplicate, refused = (sum(column) for column in zip(*actual, strict=True))
    return received, kept, duplicate, refused


def test_a_duplicate_in_the_same_batch_is_quarantined(tmp_path: Path) -> None:
    batch = [a_message(0, sent("a", "b", "a")), a_message(1, sent("b", None, None))]

    assert a_writer(tmp_path).write(batch) == WriteResult(4, 0, {0: 2}, 2)
    assert stored(tmp_path) == [("a", 0, 0, 0), ("b", 0, 0, 1), (None, 0, 1, 1), (None, 0, 1, 2)]
    noted = ("subject_id", "topic", "stage", "kafka_offset", "seq", "reason", "payload")
    reason = "same eventId as an item received before"
    assert rows(settings(tmp_path), QUARANTINE, *noted) == [
        ("w1", "events", "duplicate", 0, 2, reason, ""),
        ("w1", "events", "duplicate", 1, 0, reason, ""),
    ]
    assert sums(tmp_path) == (6, 4, 2, 0)


def test_a_duplicate_in_a_later_batch_is_not_stored(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, sent("a", "b"))])
    writer.write([a_message(1, sent("c"))])

    assert writer.write([a_message(2, sent("b", "d"))]) == WriteResult(1, 0, {0: 3}, 1)
    assert [row[0] for row in stored(tmp_path)] == ["a", "b", "c", "d"]


def test_a_new_worker_rebuilds_the_ids_from_the_table(tmp_path: Path) -> None:
    a_writer(tmp_path).write([a_message(0, sent("a")), a_message(0, sent("b"), partition=1)])

    later = a_writer(tmp_path)
    later.assign_partitions([0, 1])

    assert later.write([a_message(1, sent("a", "c"))]) == WriteResult(1, 0, {0: 2}, 1)
    assert later.write([a_message(1, sent("b"), partition=1)]) == WriteResult(0, 0, {1: 2}, 1)


def test_a_partition_that_returns_is_scanned_again(tmp_path: Path) -> None:
    first, second = a_writer(tmp_path), a_writer(tmp_path)
    first.write([a_message(0, sent("a"))])
    second.write([a_message(1, sent("b"))])

    assert first.write([a_message(2, sent("a", "b", "c"))]) == WriteResult(1, 0, {0: 3}, 2)


def test_ids_of_another_website_kind_or_partition_are_different(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, sent("a"))])

    assert writer.write([a_message(1, sent("a", subject_id="w2"))]) == WriteResult(1, 0, {0: 2})
    assert writer.write([a_message(0, sent("a"), partition=1)]) == WriteResult(1, 0, {1: 1})
    vital = {"path": "/", "metricName": "LCP", "metricValue": 1, "eventId": "a"}
    vitals = BatchWriter(settings(tmp_path), WEB_VITAL, Lookups())
    assert vitals.write([a_message(0, an_envelope([vital, vital]))]) == WriteResult(1, 0, {0: 1}, 1)


def test_an_empty_id_is_no_id(tmp_path: Path) -> None:
    assert a_writer(tmp_path).write([a_message(0, sent("", ""))]) == WriteResult(2, 0, {0: 1})


@pytest.mark.parametrize(
    ("later_ms", "duplicates"),
    [
        (0, 1),
        (24 * HOUR_MS, 1),
        (27 * HOUR_MS - 1, 1),
        (27 * HOUR_MS, 0),
        (-30 * HOUR_MS, 1),  # a collector whose clock is behind
    ],
)
def test_a_duplicate_is_recognised_for_a_day(
    tmp_path: Path, later_ms: int, duplicates: int
) -> None:
    a_writer(tmp_path).write([a_message(0, sent("a", received_ms=NOON_MS))])

    again = a_writer(tmp_path)
    received_ms = NOON_MS + later_ms

    expected = WriteResult(1 - duplicates, 0, {0: 2}, duplicates)
    assert again.write([a_message(1, sent("a", received_ms=received_ms))]) == expected


def test_a_clock_that_jumps_ahead_and_back_drops_no_ids(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, sent("a"))])
    writer.write([a_message(1, sent("b", received_ms=NOON_MS + 1000 * HOUR_MS))])

    assert writer.write([a_message(2, sent("a", "b"))]) == WriteResult(0, 0, {0: 3}, 2)


def test_a_quarantined_item_is_no_original(tmp_path: Path) -> None:
    bad = an_envelope([{"name": 7, "eventId": "a"}])

    assert a_writer(tmp_path).write([a_message(0, bad, sent("a"))]) == WriteResult(1, 1, {0: 1})


def test_a_request_that_is_sent_again_counts_once(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    first = sent(None, "a", None, idempotency_key="r1")
    writer.write([a_message(0, sent(None), first)])

    assert writer.write([a_message(1, first)]) == WriteResult(0, 0, {0: 2}, 3)
    assert len(set(rows(settings(tmp_path), EVENTS, "event_hash"))) == 4
    assert writer.write([a_message(2, sent(None, None, idempotency_key="r2"))]) == WriteResult(
        2, 0, {0: 3}
    )
    noted = rows(settings(tmp_path), QUARANTINE, "seq", "reason")
    assert noted == [
        (0, "same Idempotency-Key and place as an item received before"),
        (1, "same eventId as an item received before"),
        (2, "same Idempotency-Key and place as an item received before"),
    ]


def test_positions_in_a_request_count_quarantined_items(tmp_path: Path) -> None:
    request = an_envelope([{"name": "a"}, {"name": 7}, {"name": "c"}], idempotency_key="r")
    writer = a_writer(tmp_path)

    assert writer.write([a_message(0, sent(None), request)]) == WriteResult(3, 1, {0: 1})
    assert writer.write([a_message(1, request)]) == WriteResult(0, 1, {0: 2}, 2)
    assert sums(tmp_path) == (7, 3, 2, 2)


def test_ids_beyond_the_memory_budget_are_spilled(tmp_path: Path) -> None:
    config = settings(tmp_path)
    ids = [f"id-{n}" for n in range(6_000)]
    writer = BatchWriter(
        config, CUSTOM_EVENT, Lookups(), memory_budget=MemoryBudget(tmp_path / "cache", 10_000)
    )
    for offset in range(3):
        some = ids[offset * 2_000 : (offset + 1) * 2_000]
        received_ms = NOON_MS + 3 * offset * HOUR_MS
        writer.write([a_message(offset, sent(*some, received_ms=received_ms))])

    later = sent(*ids, "new", received_ms=NOON_MS + 9 * HOUR_MS)
    assert writer.write([a_message(3, later)]) == WriteResult(1, 0, {0: 4}, 6_000)
    assert list((tmp_path / "cache").iterdir()) == []  # the files have no names

    small = BatchWriter(
        config, CUSTOM_EVENT, Lookups(), memory_budget=MemoryBudget(tmp_path / "cache", 10_000)
    )
    assert small.write([a_message(4, later)]) == WriteResult(0, 0, {0: 5}, 6_001)


def test_retries_of_others_count_once_during_a_flood_of_ids(tmp_path: Path) -> None:
    config = settings(tmp_path)
    writer = BatchWriter(
        config, CUSTOM_EVENT, Lookups(), memory_budget=MemoryBudget(tmp_path / "cache", 10_000)
    )
    writer.write([a_message(0, sent("order-1"))])
    for offset in range(1, 6):
        flood = [{"name": "x", "eventId": f"{offset}-{n}"} for n in range(3_000)]
        writer.write([a_message(offset, an_envelope(flood, subject_id="w2"))])

    assert writer.write([a_message(6, sent("order-1"))]) == WriteResult(0, 0, {0: 7}, 1)


def test_compacted_data_files_are_scanned_too(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    writer = a_writer(tmp_path)
    writer.write([a_message(0, sent("a"))])
    writer.write([a_message(1, sent("b"))])
    compact(LakeTable(config, EVENTS), config)

    assert a_writer(tmp_path).write([a_message(2, sent("a", "b", "c"))]) == WriteResult(
        1, 0, {0: 3}, 2
    )


def test_a_revoked_partition_is_dropped_and_scanned_again_when_it_returns(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.assign_partitions([0, 1])
    writer.write([a_message(0, sent("a")), a_message(0, sent("b"), partition=1)])

    writer.assign_partitions([1])
    assert writer.write([a_message(1, sent("b"), partition=1)]) == WriteResult(0, 0, {1: 2}, 1)

    writer.assign_partitions([0, 1])
    assert writer.write([a_message(1, sent("a", "c"))]) == WriteResult(1, 0, {0: 2}, 1)
