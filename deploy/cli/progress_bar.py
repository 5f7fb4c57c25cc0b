"""One line that says how far something is: drawn over on a terminal, now and then elsewhere."""

import sys
import time
from typing import TextIO

REDRAW_SECONDS = 0.2
LINE_INTERVAL_SECONDS = 10.0


class ProgressBar:
    """Writes to the standard error, so that what is printed stays clean."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._in_place = self._out.isatty()
        self._every = REDRAW_SECONDS if self._in_place else LINE_INTERVAL_SECONDS
        self._last = time.monotonic() if not self._in_place else 0.0
        self._text = self._shown = ""

    def show(self, text: str) -> None:
        """This is so now."""
        self._text = text
        if time.monotonic() - self._last >= self._every:
            self._write()

    def print_line(self, sentence: str) -> None:
        """Something that stays on the screen, above the line."""
        self._out.write(f"\r\x1b[K{sentence}\n" if self._in_place else f"{sentence}\n")
        self._out.flush()

    def end(self, text: str = "") -> None:
        """Leave the last word on the screen."""
        self._text = text or (self._text if self._in_place else "")
        if self._text and self._text != self._shown:
            self._write()
        if self._in_place and self._shown:
            self._out.write("\n")

    def _write(self) -> None:
        self._last, self._shown = time.monotonic(), self._text
        self._out.write(f"\r\x1b[K{self._text}" if self._in_place else f"{self._text}\n")
        self._out.flush()
