"""One import from its file to the table: what is left is sent, what is refused is written down.

Lines that were dealt with are noted in the registry after each answer. Who is killed in between
sends some of them again, and the stream counts those once by their numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from deploy.importer.column_mapping import BadTime, Mapper
from deploy.importer.rejects_file import Reject, Rejects
from deploy.importer.sender import MOST_BYTES, MOST_ITEMS, Reply
from deploy.importer.source_file import File, Line

Send = Callable[[list[bytes]], Reply]


class Progress(Struct, frozen=True):
    """How far an import is."""

    lines: int = 0
    """The number of the last line that was dealt with."""
    accepted: int = 0
    rejected: int = 0


class Waiting(Struct, frozen=True):
    """A line that is to be sent."""

    line: Line
    item: bytes


def packs(file: File, mapper: Mapper, since: int) -> Iterator[list[Waiting | Line]]:
    """The lines after `since`, in portions for one request; broken ones stand where they were."""
    pack: list[Waiting | Line] = []
    size = items = 0
    for line in file.lines():
        if line.number <= since:
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


def _waiting(line: Line, mapper: Mapper) -> Waiting | Line:
    try:
        event: dict[str, Any] = {**mapper.event(line.fields), "line": line.number}
    except BadTime as bad:
        return Line(line.number, line.fields, reason=str(bad))
    return Waiting(line, msgspec.json.encode(event))


def run(
    file: File, mapper: Mapper, progress: Progress, send: Send, rejects: Rejects
) -> Iterator[Progress]:
    """Send what is left of a file; gives the progress after each answer."""
    for pack in packs(file, mapper, progress.lines):
        sent = [each for each in pack if isinstance(each, Waiting)]
        reply = send([each.item for each in sent]) if sent else Reply()
        broken = [each for each in pack if isinstance(each, Line)]
        rejects.write([*_refused(reply, sent), *_broken(broken)])
        progress = Progress(
            _number(pack[-1]),
            progress.accepted + reply.count,
            progress.rejected + len(reply.rejected) + len(broken),
        )
        yield progress


def _refused(reply: Reply, sent: Sequence[Waiting]) -> Iterator[Reject]:
    for bad in reply.rejected:
        line = sent[bad.index].line
        yield Reject(line.number, bad.message, line.fields)


def _broken(lines: Sequence[Line]) -> Iterator[Reject]:
    for line in lines:
        yield Reject(line.number, line.reason, line.fields or line.text)


def _number(each: Waiting | Line) -> int:
    return each.line.number if isinstance(each, Waiting) else each.number
