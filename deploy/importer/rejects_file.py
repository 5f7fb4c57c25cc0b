"""FILE.rejects.ndjson: what was not taken of a file, in the order of its lines, with the reason."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct


class RejectedLine(Struct, frozen=True):
    """A line that was not taken."""

    line: int
    reason: str
    content: object


class RejectsFile:
    """The file of one run; there is one when there is something to tell."""

    def __init__(self, path: Path | None, since: int = 0) -> None:
        """Who goes on keeps what was written up to line `since`; who begins keeps nothing."""
        self._path = path
        self._file: IO[str] | None = None
        self.first: RejectedLine | None = None
        """The first of this run."""
        if path and path.exists():
            kept = list(_lines_up_to(path, since)) if since else []
            path.unlink()
            self._append(kept)

    def write(self, rejects: list[RejectedLine]) -> None:
        """Write down what was not taken of one portion; it is there before the portion is noted."""
        ordered = sorted(rejects, key=lambda each: each.line)
        if ordered and self.first is None:
            self.first = ordered[0]
        self._append([_to_json_line(each) for each in ordered])

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _append(self, lines: list[str]) -> None:
        if self._path is None or not lines:
            return
        self._file = self._file or self._path.open("a")
        self._file.writelines(lines)
        self._file.flush()


def _to_json_line(each: RejectedLine) -> str:
    told = {"line": each.line, "reason": each.reason, "content": each.content}
    return json.dumps(told) + "\n"


def _lines_up_to(path: Path, since: int) -> Iterator[str]:
    """Lines that tell of `since` or before; the last may have been cut off by a kill."""
    with path.open() as file:
        for text in file:
            try:
                number = json.loads(text)["line"]
            except ValueError:
                return
            if number > since:
                return
            yield text
