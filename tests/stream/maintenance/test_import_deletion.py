"""What an import brought is taken back: its rows and nothing else, in one version, for good."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from query.engine.snapshots import SnapshotCache
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.delta_table import TableVersion
from schemas.registry import Import, ImportState, Organization, RegistryStore, Website
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import import_deletion
from stream.maintenance.compaction import compact
from stream.maintenance.import_deletion import ImportDeletion
from stream.maintenance.rewrite import rewrite_files
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from stream.writing.import_watermarks import SEALED, watermark_key
from tests.installation import ROOT
from tests.registries import make_registry
from tests.stream.builders import (
    NOON_MS,
    a_message,
    named,
    settings,
    version,
)
from tests.stream.writing.test_backfill_writer import a_backfill, lines, stored

STAMPS: dict[str, Any] = {"created_at": NOON_MS, "updated_at": NOON_MS}


@pytest.fixture
def store(tmp_path: Path) -> RegistryStore:
    """A registry with two imports of website w1."""
    url = settings(tmp_path).registry_url
    make_registry(url)
    store = RegistryStore(url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(Website(id="w1", organization_id="o1", domain="a.example", **STAMPS))
    for name in ("i1", "i2"):
        record = Import(id=name, organization_id="o1", website_id="w1", name="a.csv", **STAMPS)
        store.create(record)
    return store


def fill(folder: Path) -> None:
    BatchWriter(settings(folder), CUSTOM_EVENT, Lookups()).write([a_message(0, named("live"))])
    a_backfill(folder).write([a_message(0, lines(1, 3, "i1"), lines(11, 12, "i2"))])
    a_backfill(folder).write([a_message(1, lines(4, 5, "i1"))])


def undo(folder: Path, store: RegistryStore, import_id: str = "i1") -> None:
    store.update(Import, import_id, NOON_MS, state=ImportState.UNDOING)
    ImportDeletion()(LakeTable(settings(folder), EVENTS), settings(folder))


def test_exactly_the_rows_of_the_import_are_gone(tmp_path: Path, store: RegistryStore) -> None:
    fill(tmp_path)

    undo(tmp_path, store)

    assert stored(tmp_path) == ["e11", "e12", "live"]
    assert store.get(Import, "i1").state is ImportState.UNDONE
    assert store.get(Import, "i1").removed == 5
    assert store.get(Import, "i2").state is ImportState.OPEN


def test_all_rows_leave_in_one_version(tmp_path: Path, store: RegistryStore) -> None:
    fill(tmp_path)
    before = version(settings(tmp_path), EVENTS).number

    undo(tmp_path, store)

    table = LakeTable(settings(tmp_path), EVENTS)
    counts = []
    for number in range(before, table.handle.version() + 1):
        table.handle.load_as_version(number)
        counts.append(sum(table.handle.get_add_actions()["num_records"].to_pylist()))
    assert counts == [8, 8, 3]  # the door is closed first


def test_no_query_sees_the_rows_of_an_import_that_is_undone(
    tmp_path: Path, store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)

    async def version_after_undo() -> TableVersion:
        snapshots = SnapshotCache(settings(tmp_path).lake_url, now_ms)
        loop = asyncio.get_running_loop()

        def rewrite(*arguments: Any) -> None:
            asyncio.run_coroutine_threadsafe(snapshots.pin(EVENTS), loop).result()  # just before
            rewrite_files(*arguments)

        monkeypatch.setattr(import_deletion, "rewrite_files", rewrite)
        await asyncio.to_thread(undo, tmp_path, store)
        return (await snapshots.pin(EVENTS)).version

    seen = asyncio.run(version_after_undo())

    assert seen.number == version(settings(tmp_path), EVENTS).number


def test_what_kafka_still_has_of_it_is_not_stored_any_more(
    tmp_path: Path, store: RegistryStore
) -> None:
    fill(tmp_path)

    undo(tmp_path, store)
    a_backfill(tmp_path).write([a_message(2, lines(6, 9, "i1"), lines(13, 13, "i2"))])

    assert stored(tmp_path) == ["e11", "e12", "e13", "live"]


def test_an_undoing_after_a_compaction_finds_its_rows(tmp_path: Path, store: RegistryStore) -> None:
    fill(tmp_path)
    compact(LakeTable(settings(tmp_path), EVENTS), settings(tmp_path, small_parts=2))

    undo(tmp_path, store)

    assert stored(tmp_path) == ["e11", "e12", "live"]


def test_an_import_that_never_stored_anything_is_closed_too(
    tmp_path: Path, store: RegistryStore
) -> None:
    undo(tmp_path, store, "i2")

    a_backfill(tmp_path).write([a_message(0, lines(1, 2, "i2"))])

    assert stored(tmp_path) == []
    assert LakeTable(settings(tmp_path), EVENTS).next_offset(watermark_key("i2")) == SEALED + 3
    assert (store.get(Import, "i2").state, store.get(Import, "i2").removed) == ("undone", 0)


def test_an_undoing_that_was_killed_goes_on_and_remembers_its_count(
    tmp_path: Path, store: RegistryStore
) -> None:
    fill(tmp_path)
    undo(tmp_path, store)
    store.update(Import, "i1", NOON_MS, state=ImportState.UNDOING)  # killed before it said so

    ImportDeletion()(LakeTable(settings(tmp_path), EVENTS), settings(tmp_path))

    assert (store.get(Import, "i1").state, store.get(Import, "i1").removed) == ("undone", 5)
    assert stored(tmp_path) == ["e11", "e12", "live"]


KILLED = """
import os, signal, sys
from schemas.runtime.environment import load_settings
from schemas.tables import EVENTS
from stream.storage.delta_commit import LakeTable
from stream.maintenance.import_deletion import ImportDeletion


class Dying(LakeTable):
    def _write(self, actions, moves):
        if sys.argv[1] == "before" and "rewrites" in moves:
            os.kill(os.getpid(), signal.SIGKILL)
        super()._write(actions, moves)
        if "rewrites" in moves:
            os.kill(os.getpid(), signal.SIGKILL)

settings = load_settings()
ImportDeletion()(Dying(settings, EVENTS), settings)
"""


@pytest.mark.parametrize(
    ("moment", "left"), [("before", ["e1", "e11", "e12", "e2", "e3", "e4", "e5", "live"]),
                         ("after", ["e11", "e12", "live"])]
)  # fmt: skip
def test_a_kill_in_the_middle_leaves_all_or_nothing(
    tmp_path: Path, store: RegistryStore, moment: str, left: list[str]
) -> None:
    fill(tmp_path)
    store.update(Import, "i1", NOON_MS, state=ImportState.UNDOING)

    died = subprocess.run(
        [sys.executable, "-c", KILLED, moment],
        cwd=ROOT,
        env={**os.environ, **to_environment(settings(tmp_path)), "PYTHONPATH": str(ROOT)},
        check=False,
    )

    assert died.returncode == -signal.SIGKILL
    assert stored(tmp_path) == left
    ImportDeletion()(LakeTable(settings(tmp_path), EVENTS), settings(tmp_path))
    assert stored(tmp_path) == ["e11", "e12", "live"]
    assert store.get(Import, "i1").removed == 5


class Interrupted(LakeTable):
    """Something comes between the rewrite and its commit."""

    between: Callable[[], None] | None = None

    def replace_files(self, *config: Any, **others: Any) -> None:
        if self.between:
            between, self.between = self.between, None
            between()
        super().replace_files(*config, **others)


def test_a_compaction_in_between_makes_the_undoing_start_again(
    tmp_path: Path, store: RegistryStore
) -> None:
    fill(tmp_path)
    config = settings(tmp_path, small_parts=2)
    table = Interrupted(config, EVENTS)
    table.between = lambda: compact(LakeTable(config, EVENTS), config)
    store.update(Import, "i1", NOON_MS, state=ImportState.UNDOING)
    undoer = ImportDeletion()

    undoer(table, config)
    assert (store.get(Import, "i1").state, len(stored(tmp_path))) == ("undoing", 8)
    undoer(table, config)

    assert (store.get(Import, "i1").state, len(stored(tmp_path))) == ("undone", 3)
