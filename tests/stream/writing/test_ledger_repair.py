"""A side table that lost its newest entries after the main commit: reported and rebuilt."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import LOG_FOLDER, log_entries
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.consumer.progress import TopicPartition
from stream.consumer.start_offsets import PartitionOffsets, assign_writers
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.scrub import scrub_all
from stream.recovery.ledger_balance import check_balance
from stream.storage.log_repair import repair_logs
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, an_envelope, rows, settings, version

SUMS = ("received", "stored", "duplicate", "quarantined", "dropped")


def store(config: Settings) -> BatchWriter:
    """6 received: 4 stored, of two websites, 1 duplicate, and 1 garbage message quarantined."""
    first = an_envelope([{"name": "a", "eventId": "1"}, {"name": "b", "eventId": "2"}])
    again = an_envelope([{"name": "b", "eventId": "2"}, {"name": "c"}], subject_id="w2")
    copied = an_envelope([{"name": "a", "eventId": "1"}])
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    writer.write([a_message(0, first)])
    writer.write([a_message(1, again), a_message(2, copied), a_message(3, body=b"garbage")])
    return writer


def account(config: Settings) -> list[tuple[object, ...]]:
    """The ledger's sums of each subject, over all batches."""
    sums: dict[str, list[int]] = {}
    for subject, *counts in rows(config, LEDGER, "subject_id", *SUMS):
        own = sums.setdefault(str(subject), [0] * len(SUMS))
        own[:] = [before + more for before, more in zip(own, counts, strict=True)]
    return sorted((subject, *counts) for subject, counts in sums.items())


def tear_newest(config: Settings, table: str) -> None:
    log = Path(config.lake_url) / table / LOG_FOLDER
    entries = log_entries(log)
    entries[max(entries)].write_bytes(b"")
    repair_logs(config)


def assign(config: Settings) -> dict[TopicPartition, int]:
    """A worker that starts: it catches up the ledger."""
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    return assign_writers(config, {"events": writer}, {("events", 0): PartitionOffsets(0, 9)}, {})


def test_a_ledger_that_lost_its_newest_entry_is_rebuilt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = settings(tmp_path)
    store(config)
    before = account(config)
    tear_newest(config, "ledger")
    short = account(config)
    problems = [finding.problem for finding in check_balance(config)]

    for _ in range(2):
        assign(config)

    assert before == [("None", 1, 0, 0, 1, 0), ("w1", 3, 2, 1, 0, 0), ("w2", 2, 2, 0, 0, 0)]
    assert short == [("w1", 2, 2, 0, 0, 0)]
    assert problems == ["it is behind table 'events' by 3 messages"]
    assert account(config) == before
    assert list(check_balance(config)) == []
    messages = [r.getMessage() for r in caplog.records]
    assert messages.count("ledger was behind its table and has been rebuilt") == 1


def test_a_ledger_that_cannot_be_rebuilt_from_a_damaged_file_says_what_to_do_first(
    tmp_path: Path,
) -> None:
    config = settings(tmp_path)
    store(config)
    before = account(config)
    tear_newest(config, "ledger")
    newest = Path(version(config, EVENTS).data_files[-1].path)
    whole = newest.read_bytes()
    newest.write_bytes(b"")
    list(scrub_all(config))  # notes it

    assign(config)  # goes on without it
    [finding] = check_balance(config)

    assert finding.problem == (
        "it is behind table 'events' by 3 messages, and it would be rebuilt from damaged "
        f"data files: events/{newest.parent.name}/{newest.name}"
    )
    assert finding.remedy.startswith(
        "tidemark doctor --repair (repairs the data files), then restart"
    )
    newest.write_bytes(whole)
    list(scrub_all(config))
    assign(config)
    assert (list(check_balance(config)), account(config)) == ([], before)


def test_a_quarantine_that_lost_its_newest_entry_is_reported(tmp_path: Path) -> None:
    config = settings(tmp_path)
    store(config)
    assert list(check_balance(config)) == []

    tear_newest(config, "quarantine")

    assert rows(config, QUARANTINE, "stage") == []
    assert [finding.problem for finding in check_balance(config)] == [
        "0 rows are duplicate, but the ledger counted 1",
        "0 rows are quarantined, but the ledger counted 1",
    ]
    assert len(rows(config, EVENTS, "name")) == 4


def test_a_ledger_that_is_ahead_of_its_table_is_correct(tmp_path: Path) -> None:
    config = settings(tmp_path)

    class Killed(Exception):
        pass

    def kill(step: str) -> None:
        if step == "ledger":
            raise Killed

    with pytest.raises(Killed):
        BatchWriter(config, CUSTOM_EVENT, Lookups(), kill).write(
            [a_message(0, an_envelope([{"name": "a"}]))]
        )

    assert list(check_balance(config)) == []
    assert assign(config) == {("events", 0): 0}
    assert account(config) == [("w1", 1, 1, 0, 0, 0)]
