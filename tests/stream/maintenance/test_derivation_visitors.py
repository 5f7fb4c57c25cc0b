"""Visitors follow the data files of events: after compactions, undone imports, new rules."""

import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemas.registry import Import, ImportState, Organization, RegistryStore, Website
from schemas.tables import EVENTS, VISITORS
from stream.maintenance import compaction, derivation
from stream.maintenance.compaction import compact
from stream.maintenance.derivation import Derivation
from stream.maintenance.import_deletion import ImportDeletion
from stream.maintenance.merge_plan import QUIET_MS
from stream.storage.delta_commit import LakeTable
from tests.registries import make_registry
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows, settings
from tests.stream.maintenance import re_enriched_lake
from tests.stream.maintenance.test_derivation import write
from tests.stream.writing.test_backfill_writer import a_backfill

DAY_MS = 86_400_000
STAMPS: dict[str, Any] = {"created_at": NOON_MS, "updated_at": NOON_MS}
SEEN = """
    SELECT website_id, visitor_hash, COALESCE(is_bot, FALSE), epoch_ms(MIN(ts)), epoch_ms(MAX({}))
      FROM read_parquet(?, union_by_name = true)
     WHERE visitor_hash IS NOT NULL
     GROUP BY ALL
     ORDER BY ALL
"""


@pytest.fixture(autouse=True)
def _the_day_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the day after: the data files of the day before are settled."""
    later = int(time.time() * 1000) + DAY_MS + QUIET_MS
    monkeypatch.setattr(derivation, "now_ms", lambda: later)
    monkeypatch.setattr(compaction, "now_ms", lambda: later)


def derived(folder: Path) -> None:
    Derivation()(LakeTable(settings(folder), EVENTS), settings(folder))


def visitors(folder: Path) -> list[tuple[Any, ...]]:
    """Website, visitor, whether bots, first and last seen, from what was derived."""
    files = LakeTable(settings(folder), VISITORS.table).handle.file_uris()
    paths = [uri.removeprefix("file://") for uri in files]
    return duckdb.execute(SEEN.format("last_ts"), [paths]).fetchall()


def seen_in_events(folder: Path) -> list[tuple[Any, ...]]:
    """The same from the events."""
    files = LakeTable(settings(folder), EVENTS).handle.file_uris()
    paths = [uri.removeprefix("file://") for uri in files]
    return duckdb.execute(SEEN.format("ts"), [paths]).fetchall()


def merge(folder: Path) -> None:
    compact(LakeTable(settings(folder), EVENTS), settings(folder, small_parts=2))


def an_event(visitor: str | None, at_ms: int) -> dict[str, Any]:
    return {"name": "signup", "anonymousId": visitor, "timestamp": at_ms}


def test_a_visitor_has_one_row_in_each_data_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        0,
        an_event("u1", NOON_MS - 5000),
        an_event("u1", NOON_MS - 9000),
        an_event("u1", NOON_MS - 7000),
        an_event("u2", NOON_MS - 6000),
    )

    derived(tmp_path)

    stored = rows(settings(tmp_path), VISITORS.table, "ts", "last_ts")
    found = [tuple(int(each.timestamp() * 1000) - NOON_MS for each in row) for row in stored]
    assert found == [(-9000, -5000), (-6000, -6000)]
    assert visitors(tmp_path) == seen_in_events(tmp_path)


def test_late_and_merged_rows_are_seen(tmp_path: Path) -> None:
    write(tmp_path, 0, an_event("u1", NOON_MS - 5000))
    derived(tmp_path)
    write(tmp_path, 1, an_event("u1", NOON_MS - 3 * DAY_MS), an_event("u2", NOON_MS))
    merge(tmp_path)

    derived(tmp_path)

    [u1, u2] = sorted(visitors(tmp_path), key=lambda row: row[3])
    assert (u1[3], u1[4]) == (NOON_MS - 3 * DAY_MS, NOON_MS - 5000)
    assert (u2[3], u2[4]) == (NOON_MS, NOON_MS)
    assert visitors(tmp_path) == seen_in_events(tmp_path)


def test_an_undone_import_was_never_seen(tmp_path: Path) -> None:
    store = a_registry_with_an_import(tmp_path)
    write(tmp_path, 0, an_event("u1", NOON_MS))
    before = seen_in_events(tmp_path)
    history = [
        {**an_event("u1", NOON_MS - 900 * DAY_MS), "line": 1},
        {**an_event("u2", NOON_MS - 800 * DAY_MS), "line": 2},
    ]
    a_backfill(tmp_path).write([a_message(0, an_envelope(history, import_id="i1"))])
    derived(tmp_path)
    assert len(visitors(tmp_path)) == 2
    assert visitors(tmp_path) == seen_in_events(tmp_path)

    store.update(Import, "i1", NOON_MS, state=ImportState.UNDOING)
    ImportDeletion()(LakeTable(settings(tmp_path), EVENTS), settings(tmp_path))
    derived(tmp_path)

    assert visitors(tmp_path) == seen_in_events(tmp_path) == before


def test_a_bot_of_new_rules_is_a_bot_here_too(tmp_path: Path) -> None:
    re_enriched_lake.fill(tmp_path)
    re_enriched_lake.stale(tmp_path, is_bot=True)
    merge(tmp_path)
    derived(tmp_path)
    assert {is_bot for _, _, is_bot, *_ in visitors(tmp_path)} == {True}

    re_enriched_lake.run(tmp_path)
    derived(tmp_path)

    assert {is_bot for _, _, is_bot, *_ in visitors(tmp_path)} == {False}
    assert visitors(tmp_path) == seen_in_events(tmp_path)


def a_registry_with_an_import(folder: Path) -> RegistryStore:
    url = settings(folder).registry_url
    make_registry(url)
    store = RegistryStore(url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(Website(id="w1", organization_id="o1", domain="a.example", **STAMPS))
    store.create(Import(id="i1", organization_id="o1", website_id="w1", name="a.csv", **STAMPS))
    return store
