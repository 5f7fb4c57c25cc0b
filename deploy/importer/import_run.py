"""Runs an import: batches of lines to the collector, progress and rejects recorded.

Progress is recorded in the registry after each response. A run that is killed in between sends some
lines again after a restart; the worker deduplicates them by their line numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from deploy.importer.column_mapping import ColumnMapper
from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.member_lines import FileLine
from deploy.importer.rejects_file import RejectedLine, RejectsFile
from deploy.importer.sender import MAX_BYTES, MAX_ITEMS, CollectorReply
from deploy.importer.source_file import SourceFile

MAX_HELD_CHARACTERS = 2**26
"""Bytes of one batch of lines, which may be long without being events."""

SendItems = Callable[[list[bytes]], CollectorReply]


class ImportProgress(Struct, frozen=True):
    """The progress of an import."""

    lines: int = 0
    """Number of the last line that was processed."""
    accepted: int = 0
    rejected: int = 0


class PendingItem(Struct, frozen=True):
    """A valid line and its encoded event."""

    line: FileLine
    item: bytes


def request_batches(
    file: SourceFile, mapper: ColumnMapper, since: int
) -> Iterator[list[PendingItem | FileLine]]:
    """The lines after `since`, in batches for one request each; invalid lines included."""
    batch: list[PendingItem | FileLine] = []
    size = items = characters = 0
    for line in file.lines():
        if line.number <= since:
            mapper.pass_over(line.fields)
            continue
        pending = line if line.reason else _pending_item(line, mapper)
        length = len(pending.item) if isinstance(pending, PendingItem) else 0
        is_full = items and size + length > MAX_BYTES
        if len(batch) >= MAX_ITEMS or is_full or characters > MAX_HELD_CHARACTERS:
            yield batch
            batch, size, items, characters = [], 0, 0, 0
        batch.append(pending)
        texts = (line.text, *line.fields.values())
        characters += sum(len(text) for text in texts if isinstance(text, str))
        size, items = size + length + 1, items + bool(length)
    if batch:
        yield batch


def _pending_item(line: FileLine, mapper: ColumnMapper) -> PendingItem | FileLine:
    try:
        event: dict[str, Any] = {**mapper.event(line.fields), "line": line.number}
        return PendingItem(line, msgspec.json.encode(event))
    except InvalidLine as error:
        return FileLine(line.number, line.fields, reason=str(error))
    except (UnicodeEncodeError, RecursionError) as error:  # half a character, or nested too deeply
        return FileLine(line.number, line.fields, reason=f"the line cannot be sent: {error}")


def run_import(
    file: SourceFile,
    mapper: ColumnMapper,
    progress: ImportProgress,
    send: SendItems,
    rejects: RejectsFile,
) -> Iterator[ImportProgress]:
    """Send the remaining lines of a file; yields the progress after each response."""
    for batch in request_batches(file, mapper, progress.lines):
        sent = [entry for entry in batch if isinstance(entry, PendingItem)]
        reply = send([entry.item for entry in sent]) if sent else CollectorReply()
        invalid = [entry for entry in batch if isinstance(entry, FileLine)]
        rejects.write([*_server_rejects(reply, sent), *_file_rejects(invalid)])
        progress = ImportProgress(
            _line_number(batch[-1]),
            progress.accepted + reply.count,
            progress.rejected + len(reply.rejected) + len(invalid),
        )
        yield progress


def _server_rejects(reply: CollectorReply, sent: Sequence[PendingItem]) -> Iterator[RejectedLine]:
    for rejection in reply.rejected:
        line = sent[rejection.index].line
        yield RejectedLine(line.number, rejection.message, line.fields)


def _file_rejects(lines: Sequence[FileLine]) -> Iterator[RejectedLine]:
    for line in lines:
        yield RejectedLine(line.number, line.reason, line.fields or line.text)


def _line_number(entry: PendingItem | FileLine) -> int:
    return entry.line.number if isinstance(entry, PendingItem) else entry.number
