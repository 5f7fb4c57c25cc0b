"""One import from its file to the table: what is left is sent, what is refused is written down.

Lines that were dealt with are noted in the registry after each answer. Who is killed in between
sends some of them again, and the stream counts those once by their numbers.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from deploy.local.history.file import File, Line
from deploy.local.history.mapping import Mapper
from deploy.local.history.sending import MOST_BYTES, MOST_ITEMS, Reply

Send = Callable[[list[bytes]], Reply]


class Progress(Struct, frozen=True):
    """How far an import is."""

    lines: int = 0
    """The number of the last line that was dealt with, and one more."""
    accepted: int = 0
    rejected: int = 0


class Rejects:
    """What was not taken, with its line and the reason; there is a file when there is something."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def write(self, number: int, reason: str, content: object) -> None:
        if self.path is None:
            return
        self._file = self._file or self.path.open("a")
        self._file.write(json.dumps({"line": number, "reason": reason, "content": content}) + "\n")

    def close(self) -> None:
        if self._file:
            self._file.close()


class Waiting(Struct, frozen=True):
    """A line that is to be sent."""

    line: Line
    item: bytes


def packs(file: File, mapper: Mapper, since: int) -> Iterator[list[Waiting | Line]]:
    """The lines from `since` on, in portions for one request; broken ones stand where they were."""
    pack: list[Waiting | Line] = []
    size = items = 0
    for line in file.lines():
        if line.number < since:
            continue
        made = line if line.reason else _waiting(line, mapper)
        length = len(made.item) if isinstance(made, Waiting) else 0
        if len(pack) >= MOST_ITEMS or (items and size + length > MOST_BYTES):
            yield pack
            pack, size, items = [], 0, 0
        pack.append(made)
        size, items = size + length + 1, items + bool(length)
    if pack:
        yield pack


def _waiting(line: Line, mapper: Mapper) -> Waiting:
    event: dict[str, Any] = {**mapper.event(line.fields), "line": line.number}
    return Waiting(line, msgspec.json.encode(event))


def run(
    file: File, mapper: Mapper, progress: Progress, send: Send, rejects: Rejects
) -> Iterator[Progress]:
    """Send what is left of a file; gives the progress after each answer."""
    for pack in packs(file, mapper, progress.lines):
        sent = [each for each in pack if isinstance(each, Waiting)]
        reply = send([each.item for each in sent]) if sent else Reply()
        broken = [each for each in pack if isinstance(each, Line)]
        for bad in reply.rejected:
            line = sent[bad.index].line
            rejects.write(line.number, bad.message, line.fields)
        for line in broken:
            rejects.write(line.number, line.reason, line.text)
        progress = Progress(
            _number(pack[-1]) + 1,
            progress.accepted + reply.count,
            progress.rejected + len(reply.rejected) + len(broken),
        )
        yield progress


def _number(each: Waiting | Line) -> int:
    return each.line.number if isinstance(each, Waiting) else each.number
