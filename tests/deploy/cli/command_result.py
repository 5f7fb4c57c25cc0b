"""A command called in this process, what it printed and how it ended."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from deploy.cli import main


class Done(NamedTuple):
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def run_command(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> Done:
    """Call `tidemark` with the environment of this process."""
    code = 0
    try:
        main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    printed = capsys.readouterr()
    return Done(code, printed.out, printed.err)
