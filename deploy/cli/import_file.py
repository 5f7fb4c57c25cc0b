"""One import from the terminal: judged or sent, with a line that says how far it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from deploy.cli.progress_bar import Bar
from deploy.importer.column_mapping import Mapper
from deploy.importer.import_records import alone, key_for, note, progress_of
from deploy.importer.import_run import Progress, run
from deploy.importer.rejects_file import Rejects
from deploy.importer.sender import NotSent, Sender
from deploy.importer.source_file import BadFile, File
from deploy.importer.stored_rows import watched
from deploy.local.processes.process_file import read_account
from deploy.local.processes.readiness import reachable
from schemas.registry import Import, ImportState, Store, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

NOTHING = "nothing of {} was accepted, {:,} lines were rejected"
GO_ON = "run the same command again to go on, or `tidemark import undo {}`"
STOPPED = f"stopped; {GO_ON}"
ALL_SENT = "stopped; everything was sent: `tidemark import show {}` says how much is stored"


class NothingAccepted(Exception):
    """Not one line of the file was taken; the message says why the first was not."""


def judged(opened: File, mapper: Mapper, website: Website) -> Progress:
    """What the collector would say to every line."""
    from deploy.importer.dry_run import judge_for

    bar, at = Bar(), Progress()
    rejects = Rejects(rejects_of(opened.path))
    for at in run(opened, mapper, Progress(), judge_for(website), rejects):
        bar.show(f"{opened.part:4.0%}  {at.accepted:,} good, {at.rejected:,} bad")
    bar.end()
    rejects.close()
    _something(opened, at, rejects)
    return at


def sent(
    settings: Settings, store: Store, one: Import, opened: File, mapper: Mapper, url: str | None
) -> Progress:
    """Send what is left; an import into which nothing went is taken back, and does not count."""
    bar, at = Bar(), progress_of(one)
    with alone(settings, one), key_for(store, one) as key, _stoppable(one, STOPPED, bar):
        rejects = Rejects(rejects_of(opened.path), at.lines)
        sender = Sender(url or _collector(settings), key, one.id, bar.say)
        try:
            for at in run(opened, mapper, progress_of(one), sender.send, rejects):
                note(store, one, at)
                bar.show(f"{opened.part:4.0%}  {at.accepted:,} sent, {at.rejected:,} rejected")
        except NotSent as cut:
            raise NotSent(f"{cut}; {GO_ON.format(one.id)}") from None
        except BadFile as cut:
            raise BadFile(
                f"{cut}; `tidemark import undo {one.id}` takes back what was sent"
            ) from None
        finally:
            sender.close()
            rejects.close()
            bar.end()
    # Undone rather than deleted: a run that was killed may have sent what nobody noted.
    state = ImportState.DONE if at.accepted else ImportState.UNDOING
    store.update(Import, one.id, now_ms(), state=state)
    _something(opened, at, rejects)
    return at


def stored(settings: Settings, one: Import, at: Progress) -> int | None:
    """Rows in the table, once everything that was sent is there."""
    if read_account(settings.data) is None:
        return None
    bar, rows = Bar(), 0
    with _stoppable(one, ALL_SENT, bar):
        for found in watched(settings, one, now_ms()):
            rows = found.rows
            bar.show(f"{rows:,} of {at.accepted:,} stored")
    bar.end()
    return rows


def told(at: Progress, mapper: Mapper, path: Path, **more: Any) -> dict[str, Any]:
    """What came of it, for the screen."""
    said = {**more, "accepted": at.accepted, "rejected": at.rejected}
    if at.rejected:
        said["rejects"] = str(rejects_of(path))
    if mapper.ignored:
        said["ignoredColumns"] = sorted(mapper.ignored)
    if mapper.left_out:
        said["factsLeftOut"] = dict(mapper.left_out)
    return said


def rejects_of(path: Path) -> Path:
    """Where the lines go that were not taken."""
    return path.with_name(f"{path.name}.rejects.ndjson")


def _something(opened: File, at: Progress, rejects: Rejects) -> None:
    if at.accepted:
        return
    said = NOTHING.format(opened.path.name, at.rejected)
    if first := rejects.first:
        said += f", line {first.line} because {first.reason}"
    raise NothingAccepted(f"{said}; the reasons are in {rejects_of(opened.path)}")


@contextmanager
def _stoppable(one: Import, sentence: str, bar: Bar) -> Iterator[None]:
    """Who stops it is told what to do next."""
    try:
        yield
    except KeyboardInterrupt:
        bar.say(sentence.format(one.id))
        raise click.Abort from None


def _collector(settings: Settings) -> str:
    return f"http://{reachable(settings.host)}:{settings.collect_port}"
