"""Terminal output: nothing that a visitor sent is obeyed by the terminal of who asks for it."""

import json
import os
import subprocess
import sys

import pytest

from deploy.cli.context import print_json, print_rows
from deploy.local.terminal import escape_lines
from tests.installation import ROOT

TITLE = "\x1b]0;mine\x07"
"""What renames the window of a terminal that is shown it."""


def test_an_event_name_cannot_steer_the_terminal_of_who_asks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_rows([{"name": f"{TITLE}buy\x9b2J", "n": 3, "\x1b[2J": None}], ["name", "n"], json=False)

    assert capsys.readouterr().out == "name             n\n�]0;mine�buy�2J  3\n"


def test_json_on_a_terminal_says_the_same_with_controls_escaped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{"name": f"{TITLE}\x9b2J\u202etxt.exe é"}]

    print_json(rows)

    out = capsys.readouterr().out
    assert json.loads(out) == rows
    assert r"\u001b]0;mine\u0007\u009b2J\u202etxt.exe é" in out


def test_rows_on_a_terminal_lose_their_controls_wherever_the_pieces_are_cut() -> None:
    whole = f"name,n\r\n{TITLE}é\tbuy,3\r\nover\rwritten,4\r\n".encode()

    for cut in range(len(whole)):
        shown = b"".join(escape_lines([whole[:cut], whole[cut:]]))
        assert shown.decode() == "name,n\n�]0;mine�é\tbuy,3\nover\nwritten,4\n"


def test_a_terminal_gets_rows_without_controls_and_no_binary_ones() -> None:
    program = (
        "from deploy.cli.query_output import write_output\n"
        "write_output([b'\\x1b]0;mine\\x07,1\\r\\n'], 'csv')\n"
        "write_output([b'PAR1'], 'parquet')\n"
    )
    command = [sys.executable, "-c", program]
    ours, theirs = os.openpty()

    shown = subprocess.run(command, cwd=ROOT, stdout=theirs, stderr=subprocess.PIPE, check=False)
    on_screen = os.read(ours, 1_000)
    os.close(ours)
    os.close(theirs)

    assert on_screen.decode() == "�]0;mine�,1\r\n"
    assert b"parquet is a binary format" in shown.stderr
