"""A batch that fails is retried, with longer and longer pauses, and then ends the process."""

import logging
from pathlib import Path

import pytest
from msgspec import structs

from schemas.kinds import CUSTOM_EVENT
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.runtime.errors import RetriesExhausted
from stream.writing.batch_writer import (
    MAX_ATTEMPTS,
    RETRY_SECONDS,
    BatchWriter,
    WriteResult,
    log_quarantined,
)
from tests.pauses import replace_pauses
from tests.stream.builders import NOON_MS, a_message, named, rows, settings


class FailingDisk:
    """Fails the first attempts of a batch before its data files are written."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def on_step(self, step: str) -> None:
        if step == "ledger" and self.failures:
            self.failures -= 1
            raise OSError("no space left on device")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of which took any time."""
    recorded: list[float] = []
    replace_pauses(monkeypatch, recorded.append)
    return recorded


def a_writer(folder: Path, failures: int) -> BatchWriter:
    return BatchWriter(settings(folder), CUSTOM_EVENT, Lookups(), FailingDisk(failures).on_step)


def test_a_batch_is_stored_once_after_failed_attempts(tmp_path: Path, pauses: list[float]) -> None:
    writer = a_writer(tmp_path, 2)

    assert writer.write([a_message(0, named("a"))]) == WriteResult(1, 0, {0: 1})
    assert rows(settings(tmp_path), EVENTS, "name") == [("a",)]
    assert pauses == [RETRY_SECONDS, 2 * RETRY_SECONDS]


def test_no_pause_follows_the_last_failed_attempt(tmp_path: Path, pauses: list[float]) -> None:
    with pytest.raises(RetriesExhausted, match="not stored after 5 attempts"):
        a_writer(tmp_path, MAX_ATTEMPTS).write([a_message(0, named("a"))])

    assert len(pauses) == MAX_ATTEMPTS - 1
    assert rows(settings(tmp_path), EVENTS, "name") == []


def an_entry(offset: int, seq: int, reason: str) -> QuarantineEntry:
    return QuarantineEntry(QuarantineStage.ENRICH, reason, b"", NOON_MS, 0, offset, seq)


def test_items_of_a_message_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    sent = structs.replace(a_message(7, named("a", "b")), request_ids=b"r1 r2")
    entries = [
        an_entry(7, 0, "ValueError: anna@example.org"),
        an_entry(7, 1, "KeyError: b"),
        an_entry(9, 0, "ValueError: c"),
    ]

    with caplog.at_level(logging.WARNING):
        log_quarantined("events", entries, [sent, a_message(9, named("c"))])

    lines = {record.__dict__["offset"]: record.__dict__ for record in caplog.records}
    assert {at: (line["items"], line["error"]) for at, line in lines.items()} == {
        7: (2, "ValueError"),
        9: (1, "ValueError"),
    }
    assert lines[7]["request_ids"] == "r1 r2"
    assert "request_ids" not in lines[9]


def test_without_entries_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log_quarantined("events", [], [a_message(7, named("a"))])

    assert not caplog.records
