"""StatusScreen: redrawn in place on a terminal, one line per change elsewhere."""

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus
from deploy.local.terminal import format_table

CLEAR_LINES = "\x1b[{lines}A\x1b[J"


class StatusScreen:
    """Shows the table of processes and a progress line below it."""

    def __init__(self, out: TextIO | None = None, in_place: bool | None = None) -> None:
        self._out = out or sys.stdout
        self.is_terminal = self._out.isatty()
        """Whether the output is a terminal; other outputs may be stored in a journal."""
        self._in_place = self.is_terminal if in_place is None else in_place
        self._drawn = 0
        self._printed_states: dict[str, ProcessState] = {}
        self._status: ProcessesStatus | None = None
        self._progress = ""

    def show(self, status: ProcessesStatus) -> None:
        """Show the new state of the processes."""
        self._status = status
        if self._in_place:
            self._redraw()
        else:
            self._print_changes(status)

    def show_progress(self, line: str) -> None:
        """Show a progress line; on a terminal it replaces the last one."""
        self._progress = line
        if self._in_place:
            self._redraw()
        else:
            self._write(f"{line}\n")

    def print_line(self, text: str) -> None:
        """Print a permanent line."""
        self._erase()
        self._write(f"{text}\n")
        if self._in_place:
            self._redraw()

    def _print_changes(self, status: ProcessesStatus) -> None:
        for entry in status.processes:
            if (
                self._printed_states.get(entry.name) == entry.state
                or entry.state == ProcessState.WAITING
            ):
                continue
            self._printed_states[entry.name] = entry.state
            alive = f"  pid {entry.pid}  {entry.where}" if entry.pid else ""
            why = f"  ({entry.reason})" if entry.state == ProcessState.RESTARTING else ""
            self._write(f"{entry.name:12} {entry.state}{alive}{why}".rstrip() + "\n")

    def _redraw(self) -> None:
        lines = process_table(self._status.processes) if self._status else []
        lines += ["", self._progress] if self._progress else []
        self._erase()
        # A wrapped line would take two lines to erase.
        width = shutil.get_terminal_size().columns
        self._write("".join(f"{line[:width]}\n" for line in lines))
        self._drawn = len(lines)

    def _erase(self) -> None:
        if self._drawn:
            self._write(CLEAR_LINES.format(lines=self._drawn))
            self._drawn = 0

    def _write(self, text: str) -> None:
        with suppress(OSError):  # output to a file on a full disk must not end the process
            self._out.write(text)
            self._out.flush()


def process_table(processes: Sequence[ProcessStatus]) -> list[str]:
    """The table of processes, followed by the reasons of failures and restarts."""
    rows = format_table(
        ("process", "state", "pid", "restarts", "where", "metrics", "log"),
        [
            (
                e.name,
                e.state,
                str(e.pid or "–"),
                str(e.restarts),
                e.where or "–",
                str(e.metrics_port or "–"),
                _shorter_path(e.log),
            )
            for e in processes
        ],
    )
    return [*rows, *(f"{e.name}: {e.reason}" for e in processes if e.reason)]


def _shorter_path(path: str) -> str:
    """The path relative to the working directory, when that is shorter."""
    return min(path, os.path.relpath(path), key=len)
