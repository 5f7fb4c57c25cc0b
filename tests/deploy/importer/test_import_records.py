"""Import records: resumed, finished, undone, with a key of their own and a lock."""

from pathlib import Path

import pytest

from deploy.importer.import_records import (
    ImportConflict,
    begin_or_resume,
    exclusive_import,
    save_progress,
    saved_progress,
    temporary_key,
)
from deploy.importer.import_run import ImportProgress
from schemas.registry import Import, ImportState, Key, RegistryStore
from schemas.runtime.settings import Settings
from tests.deploy.importer.builders import NOW, WEBSITE, a_file, lines


def test_an_import_that_was_not_finished_goes_on_and_a_finished_one_is_refused(
    tmp_path: Path, store: RegistryStore
) -> None:
    file = a_file(tmp_path, lines(1))
    first = begin_or_resume(store, WEBSITE, file, again=False)
    save_progress(store, first, ImportProgress(7, 5, 1))

    found = begin_or_resume(store, WEBSITE, file, again=False)
    assert (found.id, saved_progress(found)) == (first.id, ImportProgress(7, 5, 1))

    store.update(Import, first.id, NOW, state=ImportState.DONE)
    with pytest.raises(ImportConflict, match=f"was imported as {first.id}"):
        begin_or_resume(store, WEBSITE, file, again=False)
    assert begin_or_resume(store, WEBSITE, file, again=True).id != first.id


def test_an_import_that_was_undone_may_begin_anew(tmp_path: Path, store: RegistryStore) -> None:
    file = a_file(tmp_path, lines(1))
    first = begin_or_resume(store, WEBSITE, file, again=False)
    store.update(Import, first.id, NOW, state=ImportState.UNDONE)

    assert begin_or_resume(store, WEBSITE, file, again=False).id != first.id


def test_saving_progress_does_not_change_the_registry_version(
    tmp_path: Path, store: RegistryStore
) -> None:
    one = begin_or_resume(store, WEBSITE, a_file(tmp_path, lines(1)), again=False)
    before = store.read_version()

    save_progress(store, one, ImportProgress(2, 1, 0))

    assert (store.read_version(), store.get(Import, one.id).accepted) == (before, 1)


def test_an_import_has_a_key_while_it_is_sent(tmp_path: Path, store: RegistryStore) -> None:
    one = begin_or_resume(store, WEBSITE, a_file(tmp_path, lines(1)), again=False)

    with temporary_key(store, one):
        (key,) = store.list(Key)
        assert (key.scopes, key.website_id) == (("track:events",), "w1")
    assert store.list(Key) == []


def test_two_processes_do_not_send_the_same_import(tmp_path: Path, store: RegistryStore) -> None:
    settings = Settings(data_dir=str(tmp_path))
    one = begin_or_resume(store, WEBSITE, a_file(tmp_path, lines(1)), again=False)

    with (
        exclusive_import(settings, one),
        pytest.raises(ImportConflict),
        exclusive_import(settings, one),
    ):
        pass
