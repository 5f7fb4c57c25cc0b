"""`python -m deploy.importer.uploads`: checks and imports the files that are uploaded over HTTP.

| state     | what happens                                                                       |
|-----------|------------------------------------------------------------------------------------|
| checking  | the whole file is read and validated: `checked`, or `failed`                       |
| checked   | nothing; after a day the file is removed: `failed`                                 |
| importing | the lines after the last recorded one are sent, or all totals stored: `done`, or   |
|           | `failed`                                                                           |

The file is removed in all other states. Killed at any point, the next process goes on by the state
and the recorded line; lines that were sent twice are stored once. `tidemark up` runs it while there
is an uploaded file.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.file_check import check_file
from deploy.importer.import_records import (
    ImportConflict,
    exclusive_import,
    save_progress,
    saved_progress,
    temporary_key,
)
from deploy.importer.import_run import run_import
from deploy.importer.preview import Preview, preview, preview_totals
from deploy.importer.rejects_file import RejectsFile
from deploy.importer.sender import CollectorClient, ImportSendFailed
from deploy.importer.source_file import SourceFile
from deploy.importer.totals_file import read_totals
from deploy.importer.totals_import import store_import
from deploy.importer.visitor_ids import blank_visitor, visitor_ids
from schemas.registry import (
    DatabaseError,
    Import,
    ImportState,
    RecordNotFound,
    RegistryStore,
    Website,
    first_line,
)
from schemas.runtime import log_setup
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import load_settings
from schemas.runtime.file_permissions import set_umask
from schemas.runtime.heartbeat import Heartbeat, remove_heartbeat, write_heartbeat
from schemas.runtime.service_urls import collector_url
from schemas.runtime.settings import Settings
from schemas.runtime.uploads import PART, import_of_upload, uploads_folder

log = logging.getLogger(__name__)

NAME = "importer"
POLL_SECONDS = 1.0
PROGRESS_SECONDS = 2.0
RETRY_SECONDS = 10.0
NICE = 10
MAX_AT_ONCE = 3
"""So that the file of one tenant does not hold up those of others."""
ABANDONED_SECONDS = 86_400
MAX_NAMES, MAX_COLUMNS, MAX_REASONS, MAX_LEFT_OUT = 100, 200, 20, 20
MAX_DAYS = 366
"""Beyond them the events are counted by month."""
MAX_TEXT = 300
ABANDONED = "nobody started the import within a day, and its file was removed; upload it again"
NO_EVENT = "no line of {} is a valid event; the first reason: {}"
CUT_SHORT = "{}; undo the import, which removes what was sent"
TRIED_AGAIN = "{}; it is tried again"
ANOTHER_WAY = "{}; the command `tidemark import` has --map"
BROKEN = "{} cannot be read by this version; the log of the importer has the error"


class Interrupted(Exception):
    """The process stops, or the state of the import changed meanwhile."""


def main() -> None:
    """Run until a signal; an import in progress goes on with the next process."""
    settings, stop = load_settings(), threading.Event()
    set_umask(settings)
    os.setpriority(os.PRIO_PROCESS, 0, NICE)  # threads that are started from here on inherit it
    log_setup.set_up_logging(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    uploads = Uploads(settings, stop)
    while True:
        with suppress(OSError):  # a full disk may have space again in a moment
            write_heartbeat(settings.data / "run", Heartbeat(NAME, os.getpid(), now_ms()))
        uploads.run_cycle()
        if stop.wait(POLL_SECONDS):
            break
    remove_heartbeat(settings.data / "run", NAME)
    logging.shutdown()
    os._exit(0)


class Uploads:
    """The uploaded files of this machine."""

    def __init__(self, settings: Settings, stop: threading.Event) -> None:
        self._settings = settings
        self._stop = stop
        self._store = RegistryStore(settings.registry_url, "importer")
        self._folder = uploads_folder(settings.data)
        self._pool = ThreadPoolExecutor(MAX_AT_ONCE, "import")
        self._running: dict[str, Future[None]] = {}

    def run_cycle(self) -> None:
        """Begin with the files that no thread works on."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._running = {name: work for name, work in self._running.items() if not work.done()}
        for path in sorted(self._folder.iterdir()):
            if path.name not in self._running:
                self._running[path.name] = self._pool.submit(self._handle, path)

    def wait(self) -> None:
        """Return when no file is worked on."""
        for work in list(self._running.values()):
            work.result()

    def _handle(self, path: Path) -> None:
        """Do what is due for one file; a problem of a server is tried again after a pause."""
        try:
            self._advance(path)
        except (Interrupted, FileNotFoundError):  # renamed or removed meanwhile
            return
        except (DatabaseError, ImportSendFailed, ImportConflict, OSError) as error:
            log.warning("not imported", extra={"file": path.name, "reason": first_line(error)})
            self._stop.wait(RETRY_SECONDS)

    def _advance(self, path: Path) -> None:
        record = self._record_of(path)
        is_old = time.time() > path.stat().st_mtime + ABANDONED_SECONDS
        state = record.state if record else None
        is_its_file = record is not None and record.upload.get("file") == path.name
        if record is None or not is_its_file:
            # Of a deleted website, or before its record names it: the service may be about to.
            if is_old or (record is None and not path.name.endswith(PART)):
                path.unlink(missing_ok=True)
        elif state is ImportState.CHECKING:
            self._attempt(path, record, self._check)
        elif state is ImportState.IMPORTING:
            self._attempt(path, record, self._import)
        elif state is not ImportState.CHECKED:
            self._end(path, record)
        elif is_old:
            self._fail(path, record, ABANDONED)

    def _record_of(self, path: Path) -> Import | None:
        try:
            return self._store.get(Import, import_of_upload(path.name))
        except RecordNotFound:
            return None

    def _attempt(self, path: Path, record: Import, work: Callable[[Path, Import], None]) -> None:
        try:
            work(path, record)
        except InvalidMapping as error:
            self._fail(path, record, ANOTHER_WAY.format(error))
        except InvalidFile as error:
            self._fail(path, record, str(error))
        except (
            RecordNotFound
        ):  # deleted with its website meanwhile: the next cycle removes the file
            return
        except (Interrupted, DatabaseError, ImportSendFailed, ImportConflict, OSError):
            raise
        except Exception:  # one file must not stop those of others
            log.exception("import failed", extra={"import_id": record.id})
            self._fail(path, record, BROKEN.format(record.name))

    def _check(self, path: Path, record: Import) -> None:
        """Read the whole file; the result is in the record."""
        opened = SourceFile(path, name=record.name)
        file = {"file": path.name}
        if totals := read_totals(opened):
            contents = preview_totals(opened, totals)
        else:
            mapper = ColumnMapper({}, blank_visitor)
            check_file(opened, mapper)
            shown = self._progress(record, lambda: {**file, "fraction": opened.fraction_read})
            contents = preview(opened, mapper, lambda: next(shown, None))
        if not contents.accepted:
            first = next(iter(contents.reasons), "it has no lines")
            raise InvalidFile(NO_EVENT.format(opened.name, first[:MAX_TEXT]))
        same = self._store.list(
            Import, website_id=record.website_id, fingerprint=opened.fingerprint, state="done"
        )
        again = {"importedAs": same[-1].id} if same else {}
        self._note(record, {**file, "check": check_result(contents) | again})
        self._move(record, ImportState.CHECKED, fingerprint=opened.fingerprint)

    def _import(self, path: Path, record: Import) -> None:
        """Send the remaining lines, or store the totals."""
        opened = SourceFile(path, name=record.name)
        if totals := read_totals(opened):
            store_import(self._settings, self._store, record, totals)
        else:
            self._send(opened, record)
        self._move(record, ImportState.DONE)
        self._end(path, self._store.get(Import, record.id))

    def _send(self, opened: SourceFile, record: Import) -> None:
        website = self._store.get(Website, record.website_id)
        mapper = ColumnMapper({}, visitor_ids(self._store, website))
        check_file(opened, mapper)
        with (
            exclusive_import(self._settings, record),
            temporary_key(self._store, record) as key,
        ):
            record = self._store.get(Import, record.id)
            sender = CollectorClient(collector_url(self._settings), key, record.id, log.info)
            try:
                since = saved_progress(record)
                for at in run_import(opened, mapper, since, sender.send, RejectsFile(None)):
                    save_progress(self._store, record, at)
                    self._require_state(record)
            except ImportSendFailed as error:
                self._require_state(record)  # the collector refuses events of one that is undone
                self._note(record, {**record.upload, "problem": TRIED_AGAIN.format(error)})
                raise
            except InvalidFile as error:
                raise InvalidFile(CUT_SHORT.format(error)) from None
            finally:
                sender.close()

    def _progress(self, record: Import, upload: Callable[[], Mapping[str, Any]]) -> Iterator[None]:
        """At each step, but at most every few seconds, write what `upload` returns."""
        written = time.monotonic()
        while True:
            if time.monotonic() > written + PROGRESS_SECONDS:
                written = time.monotonic()
                self._require_state(record)
                self._note(record, upload())
            yield

    def _require_state(self, record: Import) -> None:
        """Interrupted when the process stops, or the import is in another state now."""
        if self._stop.is_set() or self._store.get(Import, record.id).state is not record.state:
            raise Interrupted

    def _note(self, record: Import, upload: Mapping[str, Any]) -> None:
        self._store.update_progress(Import, record.id, now_ms(), upload=upload)

    def _move(self, record: Import, state: ImportState, **changes: Any) -> None:
        """Give the record another state, unless it has one already."""

        def moved(current: Import) -> Import:
            if current.state is not record.state:
                raise Interrupted
            return structs.replace(current, state=state, **changes)

        self._store.revise(record, now_ms(), moved)
        log.info("import moved on", extra={"import_id": record.id, "state": state.value})

    def _fail(self, path: Path, record: Import, problem: str) -> None:
        upload = self._store.get(Import, record.id).upload
        self._note(record, {**upload, "problem": problem})
        self._move(record, ImportState.FAILED)
        self._end(path, self._store.get(Import, record.id))

    def _end(self, path: Path, record: Import) -> None:
        """Remove the file, and its first lines from the record."""
        check = {**record.upload.get("check", {}), "rows": []}
        member_names = ("file", "problem") if record.state is ImportState.FAILED else ("file",)
        ended = {name: record.upload[name] for name in member_names if name in record.upload}
        self._note(record, {**ended, "check": check} if len(check) > 1 else ended)
        path.unlink(missing_ok=True)


def check_result(found: Preview) -> dict[str, Any]:
    """What the record keeps of the result of a check: all of it may be of any size."""
    result: dict[str, Any] = msgspec.to_builtins(found)
    left_out = found.files_left_out
    others = len(left_out) - MAX_LEFT_OUT
    more = f"and {others:,} more"
    return {
        **result,
        "filesLeftOut": [*map(_cut, left_out[:MAX_LEFT_OUT]), *([more] if others > 0 else [])],
        "names": _first(found.names, MAX_NAMES),
        "days": found.days if len(found.days) <= MAX_DAYS else _by_month(found.days),
        "firstDay": min(found.days),
        "lastDay": max(found.days),
        "reasons": _first(found.reasons, MAX_REASONS),
        "columns": _first(found.columns, MAX_COLUMNS),
        "ignoredColumns": [_cut(name) for name in found.ignored_columns[:MAX_COLUMNS]],
        "rows": [{name: _cut(value) for name, value in row.items()} for row in found.rows],
    }


def _first(values: Mapping[str, Any], count: int) -> dict[str, Any]:
    return {_cut(name): value for name, value in islice(values.items(), count)}


def _by_month(days: Mapping[str, int]) -> dict[str, int]:
    months: dict[str, int] = {}
    for day, count in days.items():
        months[day[:7]] = months.get(day[:7], 0) + count
    return months


def _cut(value: Any) -> Any:
    """The value, as the beginning of its JSON where it is long."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


if __name__ == "__main__":
    main()
