"""A side table whose newest entries were lost after the main commit: told, and made up for."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_log import LOG_FOLDER, log_entries
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.scrub import scrub_all
from stream.recovery.diagnosis import check_balance
from stream.storage.log_repair import repair_logs
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, an_envelope, rows, settings, version

SUMS = ("received", "stored", "duplicate", "quarantined", "dropped")


def store(given: Settings) -> BatchWriter:
    """6 received: 4 stored, of two websites, 1 copy, and 1 quarantined, which is garbage."""
    first = an_envelope([{"name": "a", "eventId": "1"}, {"name": "b", "eventId": "2"}])
    again = an_envelope([{"name": "b", "eventId": "2"}, {"name": "c"}], subject_id="w2")
    copied = an_envelope([{"name": "a", "eventId": "1"}])
    drain = BatchWriter(given, CUSTOM_EVENT, Lookups())
    drain.write([a_message(0, first)])
    drain.write([a_message(1, again), a_message(2, copied), a_message(3, body=b"garbage")])
    return drain


def account(given: Settings) -> list[tuple[object, ...]]:
    """The sums of each subject; what batches they came in does not matter."""
    sums: dict[str, list[int]] = {}
    for subject, *counts in rows(given, LEDGER, "subject_id", *SUMS):
        own = sums.setdefault(str(subject), [0] * len(SUMS))
        own[:] = [before + more for before, more in zip(own, counts, strict=True)]
    return sorted((subject, *counts) for subject, counts in sums.items())


def tear_newest(given: Settings, table: str) -> None:
    log = Path(given.lake_url) / table / LOG_FOLDER
    there = log_entries(log)
    there[max(there)].write_bytes(b"")
    repair_logs(given)


def test_a_ledger_that_lost_its_newest_entry_is_made_up_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = settings(tmp_path)
    store(given)
    before = account(given)
    tear_newest(given, "ledger")
    short = account(given)
    told = [one.problem for one in check_balance(given)]

    for _ in range(2):
        BatchWriter(given, CUSTOM_EVENT, Lookups()).next_offsets([0])

    assert before == [("None", 1, 0, 0, 1, 0), ("w1", 3, 2, 1, 0, 0), ("w2", 2, 2, 0, 0, 0)]
    assert short == [("w1", 2, 2, 0, 0, 0)]
    assert told == ["it is behind table 'events' by 3 messages"]
    assert account(given) == before
    assert list(check_balance(given)) == []
    messages = [r.getMessage() for r in caplog.records]
    assert messages.count("ledger was behind its table and has been rebuilt") == 1


def test_a_ledger_that_cannot_be_counted_again_from_a_damaged_file_says_what_to_do_first(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    store(given)
    before = account(given)
    tear_newest(given, "ledger")
    newest = Path(version(given, EVENTS).data_files[-1].path)
    whole = newest.read_bytes()
    newest.write_bytes(b"")
    list(scrub_all(given))  # notes it

    BatchWriter(given, CUSTOM_EVENT, Lookups()).next_offsets([0])  # a start goes on without it
    [told] = check_balance(given)

    assert told.problem == (
        "it is behind table 'events' by 3 messages, and it would be rebuilt from damaged "
        f"data files: events/{newest.parent.name}/{newest.name}"
    )
    assert told.remedy.startswith("tidemark doctor --repair (repairs the data files), then restart")
    newest.write_bytes(whole)
    list(scrub_all(given))
    BatchWriter(given, CUSTOM_EVENT, Lookups()).next_offsets([0])
    assert (list(check_balance(given)), account(given)) == ([], before)


def test_a_quarantine_that_lost_its_newest_entry_is_told(tmp_path: Path) -> None:
    given = settings(tmp_path)
    store(given)
    assert list(check_balance(given)) == []

    tear_newest(given, "quarantine")

    assert rows(given, QUARANTINE, "stage") == []
    assert [one.problem for one in check_balance(given)] == [
        "0 rows are duplicate, but the ledger counted 1",
        "0 rows are quarantined, but the ledger counted 1",
    ]
    assert len(rows(given, EVENTS, "name")) == 4


def test_a_ledger_that_is_ahead_of_its_table_is_right(tmp_path: Path) -> None:
    given = settings(tmp_path)

    class Killed(Exception):
        pass

    def kill(step: str) -> None:
        if step == "ledger":
            raise Killed

    with pytest.raises(Killed):
        BatchWriter(given, CUSTOM_EVENT, Lookups(), kill).write(
            [a_message(0, an_envelope([{"name": "a"}]))]
        )

    assert list(check_balance(given)) == []
    assert BatchWriter(given, CUSTOM_EVENT, Lookups()).next_offsets([0]) == {0: 0}
    assert account(given) == [("w1", 1, 1, 0, 0, 0)]
