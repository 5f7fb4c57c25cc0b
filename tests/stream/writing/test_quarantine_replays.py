"""An item that is sent again from the quarantine is received, stored and counted once."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from schemas.envelope import Envelope
from schemas.lake.quarantine_reasons import replay_id
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.recovery.ledger_balance import check_balance
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings
from tests.stream.writing.test_exactly_once import STEPS, PowerCut, a_writer
from tests.stream.writing.test_ledger_repair import assign, tear_newest

BAD = replay_id("events", 0, 0, 0, 1)
"""The second item of the first message has no name."""
COUNTS = ("received", "stored", "duplicate", "quarantined", "dropped")


def first_message() -> Envelope:
    return an_envelope([{"name": "a"}, {"name": 7}])


def repaired(name: object = "seven", event_id: str = BAD) -> Envelope:
    return an_envelope([{"name": name, "eventId": event_id}], replay_of=BAD)


def sums(folder: Path) -> tuple[int, ...]:
    """The ledger's sums."""
    return tuple(map(sum, zip(*rows(settings(folder), LEDGER, *COUNTS), strict=True)))


def entries(folder: Path) -> list[tuple[object, ...]]:
    return rows(settings(folder), QUARANTINE, "kafka_offset", "stage", "reason")


def is_balanced(folder: Path) -> bool:
    return not list(check_balance(settings(folder)))


def test_a_repaired_item_is_stored_with_its_time_of_receipt(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, first_message())])
    assert sums(tmp_path) == (2, 1, 0, 1, 0)

    writer.write([a_message(1, repaired())])

    stored = rows(settings(tmp_path), EVENTS, "name", "event_id", "received_at")
    noon = datetime.fromtimestamp(NOON_MS / 1000, UTC)
    assert stored == [("a", None, noon), ("seven", BAD, noon)]
    assert sums(tmp_path) == (2, 2, 0, 0, 0)
    assert [(offset, stage) for offset, stage, _ in entries(tmp_path)] == [
        (0, "decode"),
        (1, "replayed"),
    ]
    assert entries(tmp_path)[1][2] == BAD
    assert is_balanced(tmp_path)


@pytest.mark.parametrize("event_id", [BAD, "order-7"])
def test_a_second_replay_is_a_duplicate(tmp_path: Path, event_id: str) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, first_message())])
    writer.write([a_message(1, repaired(event_id=event_id))])

    a_writer(tmp_path).write([a_message(2, repaired(event_id=event_id))])

    assert [name for (name,) in rows(settings(tmp_path), EVENTS, "name")] == ["a", "seven"]
    assert sums(tmp_path) == (3, 2, 1, 0, 0)
    assert entries(tmp_path)[2] == (2, "duplicate", BAD)
    assert is_balanced(tmp_path)


def test_two_replays_in_one_batch_are_one_item(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)

    writer.write([a_message(0, first_message()), a_message(1, repaired(), repaired())])

    assert sums(tmp_path) == (3, 2, 1, 0, 0)
    assert [stage for _, stage, _ in entries(tmp_path)] == ["decode", "duplicate", "replayed"]
    assert is_balanced(tmp_path)


def test_an_item_that_fails_again_is_quarantined_where_it_is_now(tmp_path: Path) -> None:
    writer = a_writer(tmp_path)
    writer.write([a_message(0, first_message())])

    writer.write([a_message(1, repaired(name=8))])

    assert sums(tmp_path) == (2, 1, 0, 1, 0)
    assert [(offset, stage) for offset, stage, _ in entries(tmp_path)] == [
        (0, "decode"),
        (1, "decode"),
        (1, "replayed"),
    ]
    assert is_balanced(tmp_path)


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_dies_at_any_step_of_a_replay_counts_it_once(
    tmp_path: Path, step: str
) -> None:
    a_writer(tmp_path).write([a_message(0, first_message())])
    batch = [a_message(1, repaired()), a_message(2, an_envelope([{"name": "b"}]))]

    with pytest.raises(PowerCut):
        a_writer(tmp_path, dies_after=step).write(batch)
    a_writer(tmp_path).write(batch)

    assert [name for (name,) in rows(settings(tmp_path), EVENTS, "name")] == ["a", "b", "seven"]
    assert sums(tmp_path) == (3, 3, 0, 0, 0)
    assert [stage for _, stage, _ in entries(tmp_path)] == ["decode", "replayed"]
    assert is_balanced(tmp_path)


def test_a_lost_ledger_is_rebuilt_with_its_replays(tmp_path: Path) -> None:
    config = settings(tmp_path)
    writer = a_writer(tmp_path)
    writer.write([a_message(0, first_message())])
    writer.write([a_message(1, repaired()), a_message(2, repaired())])
    tear_newest(config, "ledger")

    assign(config)

    assert sums(tmp_path) == (3, 2, 1, 0, 0)
    assert is_balanced(tmp_path)
