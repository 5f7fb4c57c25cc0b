"""The totals of an import are stored once, all or none, and are removed with it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.registry import Import, ImportState, RegistryStore
from schemas.runtime.environment import to_environment
from schemas.tables import EVENTS, IMPORTED_TOTALS
from stream.maintenance.compaction import compact
from stream.maintenance.import_deletion import ImportDeletion
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable
from stream.writing.import_watermarks import SEALED, watermark_key
from tests.installation import ROOT
from tests.stream.builders import NOON_MS, rows, settings, version
from tests.stream.imported_totals import store, stored
from tests.stream.maintenance.test_import_deletion import store as registry

__all__ = ["registry"]


def test_totals_are_stored_once_and_in_one_version(tmp_path: Path) -> None:
    config = settings(tmp_path)

    store(config, "i1", [-2, -1])
    store(config, "i1", [-2, -1])

    assert stored(config) == [("i1", -2), ("i1", -1)]
    table = LakeTable(config, IMPORTED_TOTALS)
    assert table.handle.version() == 1
    assert table.next_offset(watermark_key("i1")) == 1
    assert rows(config, IMPORTED_TOTALS, "dimension", "value", "page_views", "visitors") == [
        ("", None, 5, None),
        ("", None, 5, None),
    ]


KILLED = """
import os, signal
from schemas.runtime.environment import load_settings
from stream.storage.delta_commit import LakeTable
from tests.stream.imported_totals import store

commit = LakeTable.commit

def die(*arguments):
    if {after}:
        commit(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

LakeTable.commit = die
store(load_settings(), "i1", [-2, -1])
"""


@pytest.mark.parametrize("after", [False, True], ids=["before the commit", "after the commit"])
def test_a_run_that_was_killed_is_repeated_and_stores_once(tmp_path: Path, after: bool) -> None:
    config = settings(tmp_path)
    environment = {**os.environ, **to_environment(config), "PYTHONPATH": str(ROOT)}

    killed = subprocess.run(
        [sys.executable, "-c", KILLED.format(after=after)], env=environment, check=False
    )
    before = stored(config)
    store(config, "i1", [-2, -1])

    assert killed.returncode == -signal.SIGKILL
    assert before == ([("i1", -2), ("i1", -1)] if after else [])
    assert stored(config) == [("i1", -2), ("i1", -1)]


def test_undoing_an_import_removes_its_totals_only(tmp_path: Path, registry: RegistryStore) -> None:
    config = settings(tmp_path)
    store(config, "i1", [-2, -1])
    store(config, "i2", [-3])
    compact(LakeTable(config, IMPORTED_TOTALS), settings(tmp_path, small_parts=2))

    registry.update(Import, "i1", NOON_MS, state=ImportState.UNDOING)
    ImportDeletion()(LakeTable(config, EVENTS), config)

    assert stored(config) == [("i2", -3)]
    record = registry.get(Import, "i1")
    assert (record.state, record.removed) == ("undone", 2)
    assert LakeTable(config, IMPORTED_TOTALS).next_offset(watermark_key("i1")) == SEALED + 1
    with pytest.raises(Fenced, match="import i1 was undone"):
        store(config, "i1", [-2])


def test_data_files_of_totals_are_merged_with_the_same_rows(tmp_path: Path) -> None:
    config = settings(tmp_path, small_parts=2)
    for number in range(3):
        store(config, f"i{number}", [number - 9, -1])

    compact(LakeTable(config, IMPORTED_TOTALS), config)

    assert stored(config) == [
        *[("i0", -9), ("i0", -1), ("i1", -8), ("i1", -1), ("i2", -7), ("i2", -1)]
    ]
    assert len(version(config, IMPORTED_TOTALS).data_files) == 1
