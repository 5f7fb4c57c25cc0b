"""Ids are recognized whose keys compaction left out; those of today are stored."""

from pathlib import Path

import pytest

from schemas.envelope import Envelope
from schemas.kinds import CUSTOM_EVENT, KINDS, Kind
from schemas.runtime.clock import now_ms
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.state.derived_event_hashes import scan_derived_hashes
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter, WriteResult
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings

ITEMS: dict[str, dict[str, object]] = {
    "custom_event": {"name": "n"},
    "web_vitals": {"path": "/", "metricName": "LCP", "metricValue": 1},
    "error": {"message": "boom"},
    "engagement": {"path": "/", "activeTime": 1.5},
    "identity": {"profileId": "p1"},
}
DEDUPLICATED = [kind for kind in KINDS if kind.path and kind.table.column("event_hash")]


def sent(kind: Kind, *ids: str | None, **envelope: object) -> Envelope:
    item = ITEMS[kind.name]
    items = [{**item, **({} if i is None else {"eventId": i})} for i in ids]
    return an_envelope(items, **{"received_ms": NOON_MS, **envelope})


def a_writer(folder: Path, kind: Kind) -> BatchWriter:
    return BatchWriter(settings(folder), kind, Lookups())


def fill(folder: Path, kind: Kind, received_ms: int = NOON_MS) -> list[Envelope]:
    """Two data files, merged."""
    config = settings(folder, small_parts=2)
    envelopes = [
        sent(kind, "a", "ü \u0000", "", trusted=True, received_ms=received_ms),
        sent(kind, "b", subject_id="w2", received_ms=received_ms),
        sent(kind, None, "c", idempotency_key="r1", received_ms=received_ms),
    ]
    writer = a_writer(folder, kind)
    writer.write([a_message(0, *envelopes[:2])])
    writer.write([a_message(1, *envelopes[2:])])
    compact(LakeTable(config, kind.table), config)
    return envelopes


@pytest.mark.parametrize("kind", DEDUPLICATED, ids=lambda kind: kind.name)
def test_a_new_worker_recognizes_all_ids_of_a_merged_day(tmp_path: Path, kind: Kind) -> None:
    envelopes = fill(tmp_path, kind)

    kept = {
        event_id
        for event_id, key in rows(settings(tmp_path), kind.table, "event_id", "event_hash")
        if key is not None
    }
    # That of the request, or all: a key follows from `trusted` too, which few tables have.
    assert kept == ({None} if kind.table.column("trusted") else {None, "a", "ü \u0000", "b", "c"})

    later = a_writer(tmp_path, kind)
    # The item with an empty id is stored again, as it would be without a merge.
    assert later.write([a_message(2, *envelopes)]) == WriteResult(1, 0, {0: 3}, 5)


def test_derived_keys_are_those_that_were_stored(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    characters = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x110000, 999))]
    ids = [f"{number}{each}" for number, each in enumerate(characters[::37])]
    writer = a_writer(tmp_path, CUSTOM_EVENT)
    for offset, subject_id in enumerate(("w1", "w2")):
        halves = (
            sent(CUSTOM_EVENT, *ids[offset::3], subject_id=subject_id),
            sent(CUSTOM_EVENT, *ids[offset::2], subject_id=subject_id, trusted=True),
        )
        writer.write([a_message(offset, *halves)])
    stored = sorted(key for (key,) in rows(config, EVENTS, "event_hash"))

    compact(LakeTable(config, EVENTS), config)

    assert {key for (key,) in rows(config, EVENTS, "event_hash")} == {None}
    derived = list(scan_derived_hashes(LakeTable(config, EVENTS), [0], 0))
    assert sorted(key for batch in derived for key in batch["event_hash"].to_pylist()) == stored
    assert len(set(stored)) == len(stored) > len(ids)


def test_ids_of_other_owners_stay_different(tmp_path: Path) -> None:
    fill(tmp_path, CUSTOM_EVENT)

    later = a_writer(tmp_path, CUSTOM_EVENT)
    others = sent(CUSTOM_EVENT, "a", "b"), sent(CUSTOM_EVENT, "a", subject_id="w2", trusted=True)
    assert later.write([a_message(2, *others)]) == WriteResult(3, 0, {0: 3})
    elsewhere = a_writer(tmp_path, CUSTOM_EVENT)
    assert elsewhere.write([a_message(0, sent(CUSTOM_EVENT, "a", trusted=True), partition=1)]) == (
        WriteResult(1, 0, {1: 1})
    )


def test_the_window_is_that_of_stored_keys(tmp_path: Path) -> None:
    fill(tmp_path, CUSTOM_EVENT)
    later = a_writer(tmp_path, CUSTOM_EVENT)

    in_time = sent(CUSTOM_EVENT, "c", received_ms=NOON_MS + 27 * 3_600_000 - 1)
    too_late = sent(CUSTOM_EVENT, "c", received_ms=NOON_MS + 27 * 3_600_000)

    assert later.write([a_message(2, in_time)]) == WriteResult(0, 0, {0: 3}, 1)
    assert later.write([a_message(3, too_late)]) == WriteResult(1, 0, {0: 4})


def test_a_merged_file_of_today_has_all_keys(tmp_path: Path) -> None:
    fill(tmp_path, CUSTOM_EVENT, now_ms())

    actual = rows(settings(tmp_path), EVENTS, "event_id", "event_hash")
    assert {event_id for event_id, key in actual if key is None} <= {"", None}
    assert sum(key is None for _, key in actual) == 1
