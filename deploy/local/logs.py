"""Log files: one per process, one older one kept; and how they are shown on the screen."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

ROTATE_BYTES = 16 * 1024 * 1024


def open_log(path: Path) -> BinaryIO:
    """The log to append to; a long one is put aside first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > ROTATE_BYTES:
        path.replace(path.with_suffix(".old.log"))
    return path.open("ab")


def last_lines(path: Path, lines: int = 15) -> str:
    """The end of a log, without the frames of Java's stack traces; empty when there is none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16_384))
        text = file.read().decode(errors="replace")
    told = [line for line in text.splitlines() if not line.startswith("\tat ")]
    return "\n".join(told[-lines:])


class Followed:
    """Reads on in a set of logs and says every new whole line, with its process before it."""

    def __init__(self, logs: Mapping[str, Path], say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._width = max(map(len, logs), default=0)
        self._at = {name: p.stat().st_size if p.exists() else 0 for name, p in logs.items()}

    def read_on(self) -> None:
        """Say what was written since the last call."""
        for name, path in self._logs.items():
            for line in self._new_lines(name, path):
                self._say(f"{name:{self._width}} | {line}")

    def _new_lines(self, name: str, path: Path) -> list[str]:
        if not path.exists():
            return []
        with path.open("rb") as file:
            # A log that was put aside begins anew.
            file.seek(self._at[name] if path.stat().st_size >= self._at[name] else 0)
            start = file.tell()
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._at[name] = start + len(whole)
        return whole.decode(errors="replace").splitlines()
