"""One line for each message with quarantined items, without what visitors sent."""

import logging

import pytest
from msgspec import structs

from stream.rows.quarantine import QuarantineEntry, QuarantineStage
from stream.writing.quarantine_log import log_quarantined
from tests.stream.builders import NOON_MS, a_message, named


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
