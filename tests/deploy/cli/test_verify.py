"""`tidemark verify`: nothing to say about a whole lake, and what is wrong with others by name."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from schemas.acknowledged_counts import write_hour
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.quarantine_reasons import replay_id
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.rows.quarantine import OffsetRange
from stream.storage.delta_commit import LakeTable
from stream.storage.parquet_writer import write_data_file
from stream.writing.batch_writer import BatchWriter
from tests.deploy.cli.command_result import Run
from tests.stream.builders import NOON_MS, a_message, an_envelope, settings

MESSAGES = 4
HOUR = "2026-11-21T12:00:00.000Z"


@pytest.fixture(autouse=True)
def counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.cli.verify.SETTLE_SECONDS", 0.0)


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    """Four messages with two items each: one is quarantined, one a duplicate, six are stored."""
    config = settings(tmp_path)
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    items: list[list[dict[str, Any]]] = [
        [{"name": "a"}, {"name": ""}],
        [{"name": "b", "eventId": "1"}, {"name": "c"}],
        [{"name": "d"}, {"name": "b", "eventId": "1"}],
        [{"name": "e"}, {"name": "f"}],
    ]
    for offset in range(MESSAGES):
        writer.write([a_message(offset, an_envelope(items[offset]))])
    return config


def verified(run: Run, code: int, *arguments: str) -> Any:
    done = run("verify", "--json", *arguments)
    assert done.code == code, done.err
    return json.loads(done.out)


def lose_file(config: Settings, number: int) -> None:
    """Remove a data file from the newest version, with the rows of one message."""
    table = LakeTable(config, EVENTS)
    path = sorted_paths(table)[number]
    table.replace_files({path: path.partition("/")[0].removeprefix("day=")}, [])


def sorted_paths(table: LakeTable) -> list[str]:
    """Paths of the data files in the order of their messages."""
    root = Path(table.url)
    paths = table.handle.get_add_actions()["path"].to_pylist()
    return sorted(paths, key=lambda path: pq.read_table(root / path)["kafka_offset"][0].as_py())


def test_a_lake_that_is_whole_has_no_findings(config: Settings, run: Run) -> None:
    assert verified(run, 0) == {
        "received": 8, "hours": [], "offsets": [], "files": [], "notes": [],
    }  # fmt: skip
    done = run("verify")
    assert done.out == "8 received items have an outcome, each once; every file is whole\n"


def test_a_replayed_item_is_where_its_receipt_was(config: Settings, run: Run) -> None:
    writer, later = BatchWriter(config, CUSTOM_EVENT, Lookups()), NOON_MS + 2 * 86_400_000
    bad = replay_id("events", 0, 0, 0, 1)
    replay = an_envelope([{"name": "g", "eventId": bad}], replay_of=bad)
    for offset, envelope in (
        (4, an_envelope([{"name": "h"}], received_ms=later)),
        (5, replay),
        (6, replay),
        (7, an_envelope([{"name": "i"}], received_ms=later)),
    ):
        writer.write([a_message(offset, envelope)])

    assert verified(run, 0)["received"] == 11  # the second replay is a duplicate
    assert verified(run, 0, "--since", "2026-11-23") == {
        "received": 2, "hours": [], "offsets": [], "files": [], "notes": [],
    }  # fmt: skip


def test_a_lost_message_is_named_by_hour_and_by_offset(config: Settings, run: Run) -> None:
    lose_file(config, 1)

    found = verified(run, 1)

    assert found["hours"] == [
        {
            "hour": HOUR, "topic": "events", "subject": "w1", "received": 8, "stored": 6,
            "duplicate": 1, "quarantined": 1, "dropped": 0,
            "problem": "4 rows are stored, but the ledger counted 6",
        }
    ]  # fmt: skip
    assert found["offsets"] == [
        {
            "topic": "events", "epoch": 1, "partition": 0, "firstOffset": 1, "nextOffset": 2,
            "problem": "1 messages have no row, and no entry in the quarantine",
        }
    ]  # fmt: skip
    assert found["files"] == []


def test_the_last_message_is_missed_too(config: Settings, run: Run) -> None:
    lose_file(config, 3)

    [gap] = verified(run, 1)["offsets"]

    assert (gap["firstOffset"], gap["nextOffset"]) == (3, 4)


def test_rows_that_are_stored_twice_are_named(config: Settings, run: Run) -> None:
    table = LakeTable(config, EVENTS)
    path = sorted_paths(table)[3]
    day = path.partition("/")[0].removeprefix("day=")
    rows = pq.read_table(Path(table.url) / path, partitioning=None)
    table.commit([write_data_file(table.store, EVENTS, day, rows)], {})

    found = verified(run, 1)

    assert [hour["problem"] for hour in found["hours"]] == [
        "8 rows are stored, but the ledger counted 6"
    ]
    assert [(at["firstOffset"], at["problem"]) for at in found["offsets"]] == [
        (3, "rows of its items are stored more than once (4 rows)")
    ]


def test_messages_that_kafka_deleted_unread_are_explained(config: Settings, run: Run) -> None:
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.assign_partitions([0])
    writer.add_lost_range(0, OffsetRange(MESSAGES, 10))
    writer.write([a_message(10, an_envelope([{"name": "g"}]))])

    assert verified(run, 0)["received"] == 9


def test_a_damaged_and_a_missing_file_are_named(config: Settings, run: Run) -> None:
    table = LakeTable(config, EVENTS)
    damaged, missing, *_ = sorted_paths(table)
    content = (Path(table.url) / damaged).read_bytes()
    (Path(table.url) / damaged).write_bytes(content[:50] + b"x" + content[51:])

    found = verified(run, 1)
    assert found["files"] == [{"path": f"events/{damaged}", "problem": "has a wrong checksum"}]
    assert found["received"] is None
    assert found["notes"] == [
        "items are not counted while files are damaged: tidemark doctor --repair"
    ]

    (Path(table.url) / missing).unlink()
    done = run("verify")
    assert done.code == 1
    assert f"events/{missing}" in done.out
    assert "is missing" in done.out


def test_only_the_days_since_are_looked_at(config: Settings, run: Run) -> None:
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    later = an_envelope([{"name": "g"}], received_ms=NOON_MS + 2 * 86_400_000)
    writer.write([a_message(MESSAGES, later)])
    lose_file(config, 1)

    assert verified(run, 0, "--since", "2026-11-22")["received"] == 1
    assert len(verified(run, 1, "--since", "2026-11-21")["offsets"]) == 1
    assert run("verify", "--since", "yesterday").code == 2


def test_items_that_were_acknowledged_and_never_received_are_named(
    config: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hour(config.data / "acknowledged", NOON_MS, "collector-1", {("events", "w1"): 11})

    noted = verified(run, 0)
    assert noted["notes"] == [
        "acknowledged items were not compared: workers have not yet stored all of events"
    ]
    monkeypatch.setattr("stream.recovery.reconciliation._is_stored", lambda *_: True)
    assert verified(run, 1)["hours"] == [
        {
            "hour": HOUR, "topic": "events", "subject": "w1",
            "problem": "3 acknowledged items were never received",
        }
    ]  # fmt: skip
