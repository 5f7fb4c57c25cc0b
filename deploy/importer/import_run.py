"""One import from its file to the table: what is left is sent, what is refused is written down.

Lines that were dealt with are noted in the registry after each answer. Who is killed in between
sends some of them again, and the stream counts those once by their numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from deploy.importer.column_mapping import ColumnMapper, InvalidTime
from deploy.importer.rejects_file import RejectedLine, RejectsFile
from deploy.importer.sender import MAX_BYTES, MAX_ITEMS, CollectorReply
from deploy.importer.source_file import FileLine, SourceFile

SendItems = Callable[[list[bytes]], CollectorReply]


class ImportProgress(Struct, frozen=True):
    """How far an import is."""

    lines: int = 0
    """The number of the last line that was dealt with."""
    accepted: int = 0
    rejected: int = 0


class PendingItem(Struct, frozen=True):
    """A line that is to be sent."""

    line: FileLine
    item: bytes


def request_batches(
    file: SourceFile, mapper: ColumnMapper, since: int
) -> Iterator[list[PendingItem | FileLine]]:
    """The lines after `since`, in portions for one request; broken ones stand where they were."""
    pack: list[PendingItem | FileLine] = []
    size = items = 0
    for line in file.lines():
        if line.number <= since:
            continue
        made = line if line.reason else _pending_item(line, mapper)
        length = len(made.item) if isinstance(made, PendingItem) else 0
        if len(pack) >= MAX_ITEMS or (items and size + length > MAX_BYTES):
            yield pack
            pack, size, items = [], 0, 0
        pack.append(made)
        size, items = size + length + 1, items + bool(length)
    if pack:
        yield pack


def _pending_item(line: FileLine, mapper: ColumnMapper) -> PendingItem | FileLine:
    try:
        event: dict[str, Any] = {**mapper.event(line.fields), "line": line.number}
    except InvalidTime as bad:
        return FileLine(line.number, line.fields, reason=str(bad))
    return PendingItem(line, msgspec.json.encode(event))


def run_import(
    file: SourceFile,
    mapper: ColumnMapper,
    progress: ImportProgress,
    send: SendItems,
    rejects: RejectsFile,
) -> Iterator[ImportProgress]:
    """Send what is left of a file; gives the progress after each answer."""
    for pack in request_batches(file, mapper, progress.lines):
        sent = [each for each in pack if isinstance(each, PendingItem)]
        reply = send([each.item for each in sent]) if sent else CollectorReply()
        broken = [each for each in pack if isinstance(each, FileLine)]
        rejects.write([*_server_rejects(reply, sent), *_file_rejects(broken)])
        progress = ImportProgress(
            _line_number(pack[-1]),
            progress.accepted + reply.count,
            progress.rejected + len(reply.rejected) + len(broken),
        )
        yield progress


def _server_rejects(reply: CollectorReply, sent: Sequence[PendingItem]) -> Iterator[RejectedLine]:
    for bad in reply.rejected:
        line = sent[bad.index].line
        yield RejectedLine(line.number, bad.message, line.fields)


def _file_rejects(lines: Sequence[FileLine]) -> Iterator[RejectedLine]:
    for line in lines:
        yield RejectedLine(line.number, line.reason, line.fields or line.text)


def _line_number(each: PendingItem | FileLine) -> int:
    return each.line.number if isinstance(each, PendingItem) else each.number
