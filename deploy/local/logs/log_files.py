"""Reads process logs: last lines, exit reason, live tail."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from deploy.local.logs.log_writer import rotated_name

MAX_REASON_LENGTH = 400
TAIL_BYTES = 16_384
MIN_TAIL_BYTES = 2_048


def last_lines(path: Path, lines: int = 15) -> str:
    """The end of a log, without the frames of Java's stack traces; empty when there is none."""
    text = _read_tail(path)
    if len(text) < MIN_TAIL_BYTES:  # it was rotated just now
        text = _read_tail(Path(rotated_name(str(path)))) + text
    lines_kept = [line for line in text.splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines_kept[-lines:])


def _read_tail(path: Path) -> str:
    if not path.exists():
        return ""
    return _read_from(path, max(0, path.stat().st_size - TAIL_BYTES)).decode(errors="replace")


def exit_reason(path: Path) -> str:
    """The last CRITICAL (else the last) log message of a process; empty when there is none."""
    lines = [line for line in last_lines(path).splitlines() if line.strip()]
    critical = [line for line in lines if " CRITICAL " in line or '"level":"CRITICAL"' in line]
    if not lines:
        return ""
    line = (critical or lines)[-1]
    if line.startswith("{"):
        return _reason_of_json(line)[:MAX_REASON_LENGTH]
    return line.rpartition(" reason=")[2].strip()[:MAX_REASON_LENGTH]


def _reason_of_json(line: str) -> str:
    """The reason of a line that is a JSON object, else its message."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.DecodeError:
        return line
    return str(fields.get("reason") or fields.get("message") or line).strip()


class LogTail:
    """Follows a set of logs and prints every new complete line with its process name."""

    def __init__(self, logs: Mapping[str, Path], say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._width = max(map(len, logs), default=0)
        self._at = {name: p.stat().st_size if p.exists() else 0 for name, p in logs.items()}

    def poll(self) -> None:
        """Print the lines written since the last call."""
        for name, path in self._logs.items():
            for line in self._new_lines(name, path):
                self._say(f"{name:{self._width}} | {line}")

    def _new_lines(self, name: str, path: Path) -> list[str]:
        if not path.exists():
            return []
        before = b""
        if path.stat().st_size < self._at[name]:  # it was rotated; the new file starts at 0
            before = _read_from(Path(rotated_name(str(path))), self._at[name])
            self._at[name] = 0
        text = _read_from(path, self._at[name])
        whole = text[: text.rfind(b"\n") + 1]
        self._at[name] += len(whole)
        return (before + whole).decode(errors="replace").splitlines()


def _read_from(path: Path, start: int) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as file:
        file.seek(start)
        return file.read()
