"""Progress line: redrawn in place on a terminal, printed every 10 s elsewhere."""

import sys
import time
from typing import TextIO

REDRAW_SECONDS = 0.2
LINE_INTERVAL_SECONDS = 10.0


class ProgressBar:
    """Writes to standard error, so that standard output holds results only."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._in_place = self._out.isatty()
        self._every = REDRAW_SECONDS if self._in_place else LINE_INTERVAL_SECONDS
        self._last = time.monotonic() if not self._in_place else 0.0
        self._text = self._shown = ""

    def show(self, text: str) -> None:
        """Set the text, and redraw it when it is time."""
        self._text = text
        if time.monotonic() - self._last >= self._every:
            self._write()

    def print_line(self, sentence: str) -> None:
        """Print a permanent line above the progress line."""
        self._out.write(f"\r\x1b[K{sentence}\n" if self._in_place else f"{sentence}\n")
        self._out.flush()

    def end(self, text: str = "") -> None:
        """Leave the last text on the screen."""
        self._text = text or (self._text if self._in_place else "")
        if self._text and self._text != self._shown:
            self._write()
        if self._in_place and self._shown:
            self._out.write("\n")

    def _write(self) -> None:
        self._last, self._shown = time.monotonic(), self._text
        self._out.write(f"\r\x1b[K{self._text}" if self._in_place else f"{self._text}\n")
        self._out.flush()
