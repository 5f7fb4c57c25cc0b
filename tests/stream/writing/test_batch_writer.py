"""A batch that fails is retried, with longer and longer pauses, and then ends the process."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.runtime.errors import RetriesExhausted
from stream.writing.batch_writer import MAX_ATTEMPTS, RETRY_SECONDS, BatchWriter, WriteResult
from tests.pauses import replace_pauses
from tests.stream.builders import a_message, named, rows, settings


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
