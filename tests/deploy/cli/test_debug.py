"""`tidemark debug`: a line for each item, which a terminal can show."""

from typing import Any

import pytest

from deploy.cli.debug import follow_lines, format_line

AT = {"receivedAt": "2026-11-21T12:00:00.125Z"}
SENT = {**AT, "accepted": True, "type": "custom_event"}
REFUSED = {**AT, "accepted": False, "path": "/track"}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            {**SENT, "item": {"name": "signup", "path": "/a"}},
            "12:00:00.125  accepted  custom_event: signup  /a",
        ),
        (
            {**SENT, "item": {"name": "\x1b]0;mine\x07\x9b2J\nrefused"}},
            "12:00:00.125  accepted  custom_event: \ufffd]0;mine\ufffd\ufffd2J\ufffdrefused",
        ),
        (
            {
                **SENT,
                "item": {"name": "a"},
                "ignored": ["props2"],
                "hint": "'props2' is ignored; did you mean 'props'?",
                "storedTime": "2026-11-14T12:00:00Z",
                "repeated": True,
            },
            "12:00:00.125  accepted  custom_event: a  (stored at 2026-11-14T12:00:00Z; "
            "eventId was received before; 'props2' is ignored; did you mean 'props'?)",
        ),
        (
            {**SENT, "item": {"name": "a"}, "outcome": {"state": "stored", "bot": "crawler: X"}},
            "12:00:00.125  bot       custom_event: a  (crawler: X)",
        ),
        (
            {**SENT, "item": {"name": "a"}, "outcome": {"state": "pending"}},
            "12:00:00.125  accepted  custom_event: a",
        ),
        (
            {**REFUSED, "index": 3, "message": "'name' is required", "code": "VALIDATION_ERROR"},
            "12:00:00.125  refused   /track item 3: 'name' is required (VALIDATION_ERROR)",
        ),
        (
            {**REFUSED, "count": 450, "message": "so many more"},
            "12:00:00.125  refused   /track: so many more: 450",
        ),
    ],
)
def test_a_line_is_told_in_one_line(line: dict[str, Any], shown: str) -> None:
    assert format_line(line) == shown


def test_a_warning_of_a_stream_is_no_item(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [b'{"name": "a"}\n', b"\n", b'{"warning": "requests are missing"}\n']

    assert [*follow_lines(lines)] == [{"name": "a"}]
    assert capsys.readouterr().err == "warning: requests are missing\n"
