"""Data files of derived tables: one for each settled data file, whatever happens in between."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.lake.damage_reports import DamagedFile
from schemas.runtime.environment import to_environment
from schemas.tables import EVENTS, SESSIONS
from schemas.tables.derived_table import derived_key, source_key
from stream.enrich.rules.lookups import Lookups
from stream.maintenance import compaction, derivation
from stream.maintenance.compaction import compact
from stream.maintenance.derivation import Derivation, compare
from stream.maintenance.merge_plan import QUIET_MS, live_data_files
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.installation import ROOT
from tests.stream.builders import NOON_MS, a_message, an_envelope, settings

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def _the_day_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the day after: the data files of the day before are settled."""
    later = int(time.time() * 1000) + DAY_MS + QUIET_MS
    monkeypatch.setattr(derivation, "now_ms", lambda: later)
    monkeypatch.setattr(compaction, "now_ms", lambda: later)


def write(folder: Path, offset: int, *events: dict[str, Any]) -> None:
    """Store these events in a data file of their own."""
    writer = BatchWriter(settings(folder), CUSTOM_EVENT, Lookups())
    writer.write([a_message(offset, an_envelope(events))])


def a_view(path: str, session: str = "s1", at_ms: int = NOON_MS, **more: Any) -> dict[str, Any]:
    return {
        "name": "screen_view",
        "path": f"https://a.example{path}",
        "sessionId": session,
        "anonymousId": "u1",
        "timestamp": at_ms,
        **more,
    }


def tables(folder: Path) -> tuple[LakeTable, LakeTable]:
    return LakeTable(settings(folder), EVENTS), LakeTable(settings(folder), SESSIONS.table)


def derived_keys(folder: Path) -> list[str]:
    _, visits = tables(folder)
    files = live_data_files(visits.handle, SESSIONS.table)
    return sorted(str(derived_key(file.path, SESSIONS.definition)) for file in files)


def source_keys(folder: Path) -> list[str]:
    events, _ = tables(folder)
    return sorted(source_key(file.path) for file in live_data_files(events.handle, EVENTS))


def stored_visits(folder: Path) -> list[tuple[Any, ...]]:
    _, visits = tables(folder)
    paths = [uri.removeprefix("file://") for uri in visits.handle.file_uris()]
    return duckdb.execute(
        f"SELECT entry_page, exit_page, utm_source, last_ts - ts FROM read_parquet({paths})"
        " ORDER BY ALL"
    ).fetchall()


def derived(folder: Path) -> None:
    Derivation()(tables(folder)[0], settings(folder))


def test_each_data_file_has_a_derived_one_with_the_facts_of_its_visits(tmp_path: Path) -> None:
    write(
        tmp_path,
        0,
        a_view("/b", at_ms=NOON_MS + 5000),
        a_view("/a?utm_source=mail", at_ms=NOON_MS),
        {**a_view("/c", at_ms=NOON_MS + 9000), "name": "signup"},
        a_view("/x", "s2"),
    )

    derived(tmp_path)

    assert derived_keys(tmp_path) == source_keys(tmp_path)
    rows = [(entry, exit_, source) for entry, exit_, source, _ in stored_visits(tmp_path)]
    assert rows == [("/a", "/b", "mail"), ("/x", "/x", None)]


def test_a_keeper_that_was_faster_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two keepers overlap while a lease changes hands: both derive the same files."""
    write(tmp_path, 0, a_view("/0"))
    derived(tmp_path)
    write(tmp_path, 1, a_view("/1", "s2"))
    compact(tables(tmp_path)[0], settings(tmp_path, small_parts=2))  # what is derived is outdated
    commit = derivation._commit
    commits = []

    def overtaken(*arguments: Any) -> int:
        commits.append(arguments)
        if len(commits) == 1:
            derived(tmp_path)
        return commit(*arguments)

    monkeypatch.setattr(derivation, "_commit", overtaken)

    derived(tmp_path)

    assert derived_keys(tmp_path) == source_keys(tmp_path)
    assert [entry for entry, *_ in stored_visits(tmp_path)] == ["/0", "/1"]


def test_after_a_compaction_only_the_new_file_has_one(tmp_path: Path) -> None:
    write(tmp_path, 0, a_view("/a"))
    derived(tmp_path)
    write(tmp_path, 1, a_view("/b", at_ms=NOON_MS + 1000))
    compact(tables(tmp_path)[0], settings(tmp_path, small_parts=2))

    derived(tmp_path)

    assert len(derived_keys(tmp_path)) == 1
    assert derived_keys(tmp_path) == source_keys(tmp_path)


def test_a_session_without_page_views_has_no_facts_of_a_visit(tmp_path: Path) -> None:
    write(tmp_path, 0, {"name": "signup", "anonymousId": "u1", "sessionId": "s1"})

    derived(tmp_path)

    assert derived_keys(tmp_path) == source_keys(tmp_path)
    assert stored_visits(tmp_path) == [(None, None, None, None)]


def test_nothing_is_committed_when_nothing_is_missing(tmp_path: Path) -> None:
    write(tmp_path, 0, a_view("/a"))
    derived(tmp_path)
    before = tables(tmp_path)[1].handle.version()

    derived(tmp_path)

    assert tables(tmp_path)[1].handle.version() == before


def test_a_small_file_of_today_waits_for_its_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0, a_view("/a"))
    monkeypatch.undo()

    derived(tmp_path)

    assert derived_keys(tmp_path) == []


def test_a_deleted_table_is_computed_again(tmp_path: Path) -> None:
    write(tmp_path, 0, a_view("/a"))
    task, (events, visits) = Derivation(), tables(tmp_path)
    task(events, settings(tmp_path))
    shutil.rmtree(visits.url.removeprefix("file://"))

    with pytest.raises(Exception, match=r"."):  # found missing; the next cycle makes it anew
        task(events, settings(tmp_path))
    task(events, settings(tmp_path))

    assert derived_keys(tmp_path) == source_keys(tmp_path)


def test_a_damaged_file_is_computed_again(tmp_path: Path) -> None:
    write(tmp_path, 0, a_view("/a"))
    derived(tmp_path)
    events, visits = tables(tmp_path)
    [file] = live_data_files(visits.handle, SESSIONS.table)
    path = Path(visits.url.removeprefix("file://")) / file.path
    path.write_bytes(b"PAR1 nothing PAR1")
    report = DamagedFile("sessions", file.path, "has a wrong checksum", file.rows)
    visits.damage_reports.report(report, "it is computed again")
    assert compare(SESSIONS, events, visits, small_parts=12).missing

    derived(tmp_path)

    assert [row[0] for row in stored_visits(tmp_path)] == ["/a"]


def test_a_changed_definition_replaces_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0, a_view("/a"))
    derived(tmp_path)
    before = tables(tmp_path)[1].handle.file_uris()
    monkeypatch.setattr(type(SESSIONS), "definition", "00000000")

    derived(tmp_path)

    [after] = tables(tmp_path)[1].handle.file_uris()
    assert after not in before
    assert "/00000000-" in after


KILLED = """
import os, signal, sys
from pathlib import Path
from schemas.runtime.environment import load_settings
from schemas.tables import EVENTS
from stream.maintenance import derivation
from stream.storage.delta_commit import LakeTable

derivation.now_ms = lambda: int(sys.argv[2])


class Dying(LakeTable):
    def _write(self, actions, updates):
        if sys.argv[1] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        super()._write(actions, updates)
        os.kill(os.getpid(), signal.SIGKILL)


derivation.LakeTable = Dying
derivation.Derivation()(LakeTable(load_settings(), EVENTS), load_settings())
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_the_commit_leaves_nothing_wrong(tmp_path: Path, moment: str) -> None:
    write(tmp_path, 0, a_view("/a"))
    now = str(int(time.time() * 1000) + DAY_MS + QUIET_MS)
    process = subprocess.run(
        [sys.executable, "-c", KILLED, moment, now],
        cwd=ROOT,
        env={**os.environ, **to_environment(settings(tmp_path))},
        check=False,
    )
    assert process.returncode == -signal.SIGKILL
    assert derived_keys(tmp_path) == ([] if moment == "before" else source_keys(tmp_path))

    derived(tmp_path)

    assert derived_keys(tmp_path) == source_keys(tmp_path)
    assert [row[0] for row in stored_visits(tmp_path)] == ["/a"]
