"""Imported events are stored once by line, keep their times and never mix with live events."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import Envelope
from schemas.kinds import CUSTOM_EVENT, IMPORTED_EVENT
from schemas.tables import EVENTS, LEDGER
from stream.enrich.rules.lookups import Lookups
from stream.rows.kafka_message import KafkaMessage
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.writing.backfill_writer import BACKFILL_WRITER, DELETED_IMPORT
from stream.writing.batch_writer import BatchWriter
from stream.writing.import_watermarks import SEALED, watermark_key
from tests.stream.builders import CHROME, a_message, an_envelope, named, rows, settings

MARCH_2019 = 1_551_441_600_000
"""2019-03-01 12:00:00 UTC."""


def a_backfill(folder: Path, on_step: Callable[[str], None] = lambda step: None) -> BatchWriter:
    return BatchWriter(settings(folder), IMPORTED_EVENT, Lookups(), on_step, role=BACKFILL_WRITER)


def lines(first: int, last: int, import_id: str = "i1", **others: Any) -> Envelope:
    """Lines of a file, each an event named after its number."""
    items = [
        {"name": f"e{line}", "timestamp": MARCH_2019 + line, "line": line}
        for line in range(first, last + 1)
    ]
    return an_envelope(items, import_id=import_id, **others)


def stored(folder: Path) -> list[str]:
    return [name for (name,) in rows(settings(folder), EVENTS, "name")]


def ledger(folder: Path) -> list[tuple[Any, ...]]:
    """Offset, received, stored, duplicate, dropped, reason."""
    return rows(
        settings(folder),
        LEDGER,
        *("kafka_offset", "received", "stored", "duplicate", "dropped", "drop_reason"),
    )


def test_imported_events_keep_their_time_beside_live_rows_of_the_same_offsets(
    tmp_path: Path,
) -> None:
    BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups()).write([a_message(0, named("live"))])
    a_backfill(tmp_path).write([a_message(0, lines(1, 1))])

    actual = rows(
        settings(tmp_path), EVENTS, "name", "ts", "import_id", "kafka_partition", "kafka_offset"
    )

    assert [(n, f"{ts:%Y-%m-%d %H}", i, p, o) for n, ts, i, p, o in actual] == [
        ("e1", "2019-03-01 12", "i1", -1, 0),
        ("live", "2026-11-21 12", None, 0, 0),
    ]


def test_repeated_lines_are_stored_once_and_counted_as_duplicates(tmp_path: Path) -> None:
    a_backfill(tmp_path).write([a_message(0, lines(1, 3))])
    a_backfill(tmp_path).write([a_message(1, lines(1, 3)), a_message(2, lines(3, 5))])

    assert stored(tmp_path) == ["e1", "e2", "e3", "e4", "e5"]
    assert ledger(tmp_path) == [(0, 3, 3, 0, 0, None), (2, 6, 2, 4, 0, None)]


def test_lines_repeated_in_the_same_batch_are_stored_once(tmp_path: Path) -> None:
    a_backfill(tmp_path).write([a_message(0, lines(1, 2)), a_message(1, lines(1, 3))])

    assert stored(tmp_path) == ["e1", "e2", "e3"]


def test_each_import_has_lines_of_its_own(tmp_path: Path) -> None:
    a_backfill(tmp_path).write(
        [a_message(0, lines(5, 6, "i1"), lines(1, 2, "i2")), a_message(0, lines(7, 7), partition=3)]
    )

    assert stored(tmp_path) == ["e1", "e2", "e5", "e6", "e7"]
    table = LakeTable(settings(tmp_path), EVENTS)
    assert [table.next_offset(watermark_key(name)) for name in ("i1", "i2")] == [8, 3]


def test_items_after_the_deletion_are_dropped_with_a_reason(tmp_path: Path) -> None:
    a_backfill(tmp_path).write([a_message(0, lines(1, 2))])
    LakeTable(settings(tmp_path), EVENTS).commit([], {watermark_key("i1"): OffsetUpdate(3, SEALED)})

    a_backfill(tmp_path).write([a_message(1, lines(3, 9), lines(1, 1, "i2"))])

    assert stored(tmp_path) == ["e1", "e1", "e2"]
    assert ledger(tmp_path)[1:] == [(1, 8, 1, 0, 7, DELETED_IMPORT)]


def test_a_deletion_before_the_commit_fences_it(tmp_path: Path) -> None:
    config = settings(tmp_path)

    def undo(step: str) -> None:
        if step == "write":
            LakeTable(config, EVENTS).commit([], {watermark_key("i1"): OffsetUpdate(0, SEALED)})

    with pytest.raises(Fenced):
        a_backfill(tmp_path, undo).write([a_message(0, lines(1, 2))])

    a_backfill(tmp_path).write([a_message(0, lines(1, 2))])
    assert stored(tmp_path) == []


def test_items_without_a_line_are_no_duplicates_and_are_dropped_after_the_deletion(
    tmp_path: Path,
) -> None:
    def without_lines(offset: int) -> KafkaMessage:
        return a_message(offset, an_envelope([{"name": "e"}, {"name": "e"}], import_id="i1"))

    a_backfill(tmp_path).write([without_lines(0)])
    a_backfill(tmp_path).write([without_lines(1)])
    LakeTable(settings(tmp_path), EVENTS).commit([], {watermark_key("i1"): OffsetUpdate(0, SEALED)})
    a_backfill(tmp_path).write([without_lines(2)])

    assert stored(tmp_path) == ["e"] * 4
    assert ledger(tmp_path)[-1] == (2, 2, 0, 0, 2, DELETED_IMPORT)


def with_ids(*ids: str, import_id: str = "i1") -> Envelope:
    """History without lines: events named after their ids."""
    items = [{"name": name, "timestamp": MARCH_2019, "eventId": name} for name in ids]
    return an_envelope(items, import_id=import_id, trusted=True)


@pytest.mark.parametrize("partition", [0, 3])
def test_items_without_a_line_are_stored_once_by_their_event_id(
    tmp_path: Path, partition: int
) -> None:
    writer = a_backfill(tmp_path)
    writer.write([a_message(0, with_ids("e1", "e2"), with_ids("e2", "e3"), partition=partition)])
    writer.write([a_message(1, with_ids("e1", "e4"), partition=partition)])
    restarted = a_backfill(tmp_path)
    restarted.write([a_message(2, with_ids("e3", "e4", "e5"), partition=partition)])

    assert stored(tmp_path) == ["e1", "e2", "e3", "e4", "e5"]
    assert ledger(tmp_path) == [
        (0, 4, 3, 1, 0, None),
        (1, 2, 1, 1, 0, None),
        (2, 3, 1, 2, 0, None),
    ]


def test_event_ids_are_compared_within_an_import_and_not_with_lines_or_live_events(
    tmp_path: Path,
) -> None:
    live = BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups())
    live.write([a_message(0, an_envelope([{"name": "e1", "eventId": "e1"}], trusted=True))])
    line = {"name": "e1", "timestamp": MARCH_2019, "eventId": "e1", "line": 1}

    a_backfill(tmp_path).write(
        [
            a_message(0, with_ids("e1"), with_ids("e1", import_id="i2")),
            a_message(1, an_envelope([line, {**line, "line": 2}], import_id="i1")),
        ]
    )

    assert stored(tmp_path) == ["e1"] * 5
    assert [row[3] for row in ledger(tmp_path)] == [0, 0]


def test_a_live_worker_and_a_backfill_worker_that_commit_at_once_both_succeed(
    tmp_path: Path,
) -> None:
    live = BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups())
    backfill = a_backfill(tmp_path)

    def store_live() -> None:
        for offset in range(12):
            live.write([a_message(offset, named("live"))])

    with ThreadPoolExecutor(1) as beside:
        storing = beside.submit(store_live)
        for offset in range(12):
            backfill.write([a_message(offset, lines(10 * offset, 10 * offset + 9))])
        storing.result()

    assert len(stored(tmp_path)) == 12 + 120
    assert sorted(row[2] for row in ledger(tmp_path)) == [1] * 12 + [10] * 12


def test_a_live_worker_and_a_backfill_worker_do_not_fence_each_other(tmp_path: Path) -> None:
    live = BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups())
    backfill = a_backfill(tmp_path)

    for offset in range(3):
        live.write([a_message(offset, named(f"live{offset}"))])
        backfill.write([a_message(offset, lines(10 * offset, 10 * offset + 1))])

    assert stored(tmp_path) == ["e0", "e1", "e10", "e11", "e20", "e21", "live0", "live1", "live2"]


def test_values_of_the_file_override_the_rules(tmp_path: Path) -> None:
    items = [
        {"name": "a", "timestamp": 0, "user_agent": CHROME},
        {"name": "b", "user_agent": "Googlebot/2.1 (+http://www.google.com/bot.html)"},
        {
            "name": "c", "user_agent": CHROME, "browser_name": "Arc", "device_type": "tablet",
            "country": "AT", "city": "Linz", "is_bot": True,
        },
        {"name": "d", "timezone": "Europe/Berlin"},
    ]  # fmt: skip
    sent = an_envelope(items, import_id="i1", trusted=True, user_agent="tidemark")
    a_backfill(tmp_path).write([a_message(0, sent)])

    columns = ("name", "browser_name", "device_type", "country", "city", "is_bot", "bot_reason")
    actual = rows(settings(tmp_path), EVENTS, *columns)

    assert actual[0] == ("a", "Chrome", "desktop", None, None, False, None)
    assert (actual[1][0], actual[1][5]) == ("b", True)
    assert actual[2] == ("c", "Arc", "tablet", "AT", "Linz", True, "told")
    assert actual[3][:1] + actual[3][3:] == ("d", "DE", None, False, None)
    years = [ts.year for (ts,) in rows(settings(tmp_path), EVENTS, "ts")]
    assert years == [2000, 2026, 2026, 2026]
