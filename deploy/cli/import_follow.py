"""`tidemark import LOG --follow`: sends lines of an access log as they are written."""

import time
from collections.abc import Mapping
from pathlib import Path

import click

from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.file_check import check_file
from deploy.importer.followed_file import POLL_SECONDS, FollowedFile
from deploy.importer.import_records import (
    begin_or_resume,
    exclusive_import,
    save_progress,
    saved_progress,
    temporary_key,
)
from deploy.importer.import_run import ImportProgress, run_import
from deploy.importer.rejects_file import RejectsFile
from deploy.importer.sender import CollectorClient
from deploy.importer.visitor_ids import visitor_ids
from schemas.registry import Import, ImportState, RegistryStore, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.service_urls import collector_url
from schemas.runtime.settings import Settings

KEY_USE_SECONDS = 12 * 3600
"""The key of an import expires after a day; another one is made before."""


def follow(
    settings: Settings,
    store: RegistryStore,
    website: Website,
    path: Path,
    overrides: Mapping[str, str],
    url: str | None,
) -> None:
    """Until it is stopped: one import for each file that has the name, resumed by its first line.

    Rejected lines, most of them no page views, are counted and not kept.
    """
    while True:
        _wait_for_a_line(path)
        file, mapper = FollowedFile(path), ColumnMapper(overrides, visitor_ids(store, website))
        try:
            check_file(file, mapper)
            if mapper.export_format is None or not mapper.export_format.has_log_visitors:
                raise InvalidMapping(f"{path.name} is no access log, and cannot be followed")
            record = begin_or_resume(store, website, file, again=True)
            _say(f"following {path.name} as {record.id}")
            at = _follow_file(settings, store, record, file, mapper, url or collector_url(settings))
        except KeyboardInterrupt:
            return _say(f"stopped; the same command goes on with {path.name}")
        finally:
            file.close()
        state = ImportState.DONE if at.accepted else ImportState.UNDOING
        store.update(Import, record.id, now_ms(), state=state)


def _wait_for_a_line(path: Path) -> None:
    """Until the file is there, with a line in it."""
    while not path.is_file() or path.stat().st_size == 0:
        time.sleep(POLL_SECONDS)


def _follow_file(
    settings: Settings,
    store: RegistryStore,
    record: Import,
    file: FollowedFile,
    mapper: ColumnMapper,
    url: str,
) -> ImportProgress:
    """Send the lines of one file until it is rotated; the progress."""
    at, is_current = saved_progress(record), True
    with exclusive_import(settings, record):
        while is_current:
            until = time.monotonic() + KEY_USE_SECONDS
            with temporary_key(store, record) as key:
                sender = CollectorClient(url, key, record.id, _say)
                try:
                    while is_current and time.monotonic() < until:
                        is_current = file.wait_for_lines(until)
                        for progress in run_import(
                            file, mapper, at, sender.send, RejectsFile(None)
                        ):
                            save_progress(store, record, at := progress)
                finally:
                    sender.close()
    return at


def _say(text: str) -> None:
    click.echo(f"tidemark: {text}", err=True)
