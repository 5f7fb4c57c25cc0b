"""FILE.rejects.ndjson: rejected lines with reasons, in order, up to a size."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

MAX_BYTES = 64 * 2**20
"""Of one file: a packed file of 500 KB may hold gigabytes of lines that are no events."""
LAST_LINE = '{"reason": "this file is full: further rejected lines are counted only"}\n'


class RejectedLine(Struct, frozen=True):
    """A rejected line."""

    line: int
    reason: str
    content: object


class RejectsFile:
    """The rejects of one run; the file is created with the first reject."""

    def __init__(self, path: Path | None, since: int = 0) -> None:
        """A resumed run keeps rejects up to line `since`; a new run (0) keeps none."""
        self._path = path
        self._file: IO[str] | None = None
        self._size = 0
        """Characters, which are ASCII; MAX_BYTES when the file takes no more."""
        self.first: RejectedLine | None = None
        """The first reject of this run."""
        if path and path.exists():
            lines = list(_lines_up_to(path, since)) if since else []
            path.unlink()
            self._append(lines)

    def write(self, rejects: list[RejectedLine]) -> None:
        """Append the rejects of one batch; called before the progress is recorded."""
        ordered = sorted(rejects, key=lambda reject: reject.line)
        if ordered and self.first is None:
            self.first = ordered[0]
        self._append(_to_json_line(reject) for reject in ordered)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _append(self, lines: Iterable[str]) -> None:
        if self._path is None:
            return
        for text in lines:
            if self._size >= MAX_BYTES:
                break
            self._size += len(text)
            is_last = self._size >= MAX_BYTES
            self._file = self._file or self._path.open("a")
            self._file.write(LAST_LINE if is_last else text)
        if self._file:
            self._file.flush()


def _to_json_line(reject: RejectedLine) -> str:
    fields = {"line": reject.line, "reason": reject.reason, "content": reject.content}
    try:
        return json.dumps(fields) + "\n"
    except RecursionError:
        return json.dumps({**fields, "content": "nested too deeply"}) + "\n"


def _lines_up_to(path: Path, since: int) -> Iterator[str]:
    """Rejects up to line `since`; the last one may be truncated after a kill."""
    with path.open() as file:
        for text in file:
            try:
                number = json.loads(text)["line"]
            except (ValueError, KeyError):  # cut, or the last line of a full file
                return
            if number > since:
                return
            yield text
