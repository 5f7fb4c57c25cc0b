"""Import records in the registry: create or resume, progress, temporary key, lock."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.importer.import_run import ImportProgress
from deploy.importer.source_file import SourceFile
from schemas.registry import Import, ImportState, Key, RegistryStore, Website
from schemas.registry.validation import new_import, new_key
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings

KEY_LIFETIME_MS = 24 * 3_600_000


class ImportConflict(Exception):
    """The file was imported before, or is being imported now."""


def begin_or_resume(
    store: RegistryStore, website: Website, file: SourceFile, again: bool
) -> Import:
    """The unfinished import of this file, else a new one.

    A second import of the same file needs `--again`, also to resume: without it the user may not
    know of the first import.
    """
    same = store.list(Import, website_id=website.id, fingerprint=file.fingerprint)
    finished = [record for record in same if record.state is ImportState.DONE]
    if finished and not again:
        raise ImportConflict(
            f"{file.path.name} was imported as {finished[-1].id}; "
            f"`tidemark import undo {finished[-1].id}` undoes it; --again imports it a second time"
        )
    uploaded = [record for record in same if record.state is ImportState.IMPORTING]
    if uploaded and not again:
        raise ImportConflict(f"{file.path.name} is being imported as {uploaded[0].id}")
    if unfinished := [record for record in same if record.state is ImportState.OPEN]:
        return unfinished[0]
    return store.create(new_import(website, file.path.name, now_ms(), file.fingerprint))


def saved_progress(record: Import) -> ImportProgress:
    """The recorded progress of an import."""
    return ImportProgress(record.lines, record.accepted, record.rejected)


def save_progress(store: RegistryStore, record: Import, at: ImportProgress) -> None:
    """Record the progress of an import."""
    store.update_progress(
        Import, record.id, now_ms(), lines=at.lines, accepted=at.accepted, rejected=at.rejected
    )


@contextmanager
def temporary_key(store: RegistryStore, record: Import) -> Iterator[str]:
    """An API key for this import only; it expires after a day if it is not deleted."""
    expires = now_ms() + KEY_LIFETIME_MS
    name = f"import {record.id}"
    key, text = new_key(
        record.organization_id, ["track:events"], now_ms(), record.website_id, name, expires
    )
    store.create(key)
    try:
        yield text
    finally:
        store.delete(Key, key.id)


@contextmanager
def exclusive_import(settings: Settings, record: Import) -> Iterator[None]:
    """Hold a lock, so that no other process sends this import."""
    folder = settings.data / "run"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{record.id}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ImportConflict(f"{record.id} is being imported by another process") from None
        yield
