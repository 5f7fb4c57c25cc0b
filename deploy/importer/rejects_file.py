"""FILE.rejects.ndjson: rejected lines with reasons, in order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct


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
        self._append([_to_json_line(reject) for reject in ordered])

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _append(self, lines: list[str]) -> None:
        if self._path is None or not lines:
            return
        self._file = self._file or self._path.open("a")
        self._file.writelines(lines)
        self._file.flush()


def _to_json_line(reject: RejectedLine) -> str:
    fields = {"line": reject.line, "reason": reject.reason, "content": reject.content}
    return json.dumps(fields) + "\n"


def _lines_up_to(path: Path, since: int) -> Iterator[str]:
    """Rejects up to line `since`; the last one may be truncated after a kill."""
    with path.open() as file:
        for text in file:
            try:
                number = json.loads(text)["line"]
            except ValueError:
                return
            if number > since:
                return
            yield text
