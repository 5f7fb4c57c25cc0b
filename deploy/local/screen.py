"""The status screen: redrawn in place on a terminal, a line per change anywhere else."""

import sys
from typing import TextIO

from deploy.local.account import Account
from deploy.local.process import State

UP_AND_CLEAR = "\x1b[{lines}A\x1b[J"


class Screen:
    """Shows the account of what runs, and one line of news beneath."""

    def __init__(self, out: TextIO = sys.stdout, in_place: bool | None = None) -> None:
        self._out = out
        self._in_place = out.isatty() if in_place is None else in_place
        self._drawn = 0
        self._said: dict[str, State] = {}
        self._account: Account | None = None
        self._news = ""

    def show(self, account: Account) -> None:
        """The processes changed."""
        self._account = account
        if self._in_place:
            self._redraw()
        else:
            self._tell_changes(account)

    def news(self, line: str) -> None:
        """Progress: replaces the last news on a terminal."""
        self._news = line
        if self._in_place:
            self._redraw()
        else:
            self._write(f"{line}\n")

    def say(self, text: str) -> None:
        """Something that stays."""
        self._erase()
        self._write(f"{text}\n")
        if self._in_place:
            self._redraw()

    def _tell_changes(self, account: Account) -> None:
        for entry in account.processes:
            if self._said.get(entry.name) != entry.state and entry.state != State.WAITING:
                self._said[entry.name] = entry.state
                alive = f"  pid {entry.pid}  {entry.where}" if entry.pid else ""
                self._write(f"{entry.name:12} {entry.state}{alive}".rstrip() + "\n")

    def _redraw(self) -> None:
        lines = table(self._account) if self._account else []
        lines += ["", self._news] if self._news else []
        self._erase()
        self._write("".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _erase(self) -> None:
        if self._drawn:
            self._write(UP_AND_CLEAR.format(lines=self._drawn))
            self._drawn = 0

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def table(account: Account) -> list[str]:
    """The account as lines: what runs where, pid, state, log."""
    rows = [("process", "state", "pid", "restarts", "where", "log")]
    rows += [
        (e.name, e.state.value, str(e.pid or "–"), str(e.restarts), e.where or "–", e.log)
        for e in account.processes
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
