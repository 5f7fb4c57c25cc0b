"""`tidemark import` of a file of totals: shown, stored once, refused a second time."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.cli import main
from deploy.importer.import_records import begin_or_resume
from deploy.importer.source_file import SourceFile
from deploy.importer.stored_rows import count_rows
from schemas.registry import Import, ImportState, RegistryStore
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, IMPORTED_TOTALS
from stream.maintenance.import_deletion import ImportDeletion
from stream.storage.delta_commit import LakeTable
from tests.deploy.cli.test_imports import WEBSITE, states, store
from tests.stream.builders import rows
from tests.stream.imported_totals import store as store_totals

__all__ = ["store"]

VISITORS = "date,visitors,pageviews\n2026-11-01,10,25\n2026-11-02,8,20\n,18,45\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "imported_visitors.csv"
    path.write_text(VISITORS)
    return path


@pytest.fixture
def command(
    tmp_path: Path, store: RegistryStore, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """`tidemark import`; the exit code."""
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    def run_it(*arguments: object) -> int:
        try:
            main(["import", *map(str, arguments)])
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0

    return run_it


def stored(config: Settings) -> list[tuple[Any, ...]]:
    found = rows(config, IMPORTED_TOTALS, "ts", "dimension", "visitors", "page_views", "product")
    return [(at.date().isoformat(), *values) for at, *values in found]


EXPECTED = [("2026-11-01", "", 10, 25, "Plausible"), ("2026-11-02", "", 8, 20, "Plausible")]


def test_totals_are_stored_once_until_that_is_said_again(
    tmp_path: Path,
    store: RegistryStore,
    command: Callable[..., int],
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = Settings(data_dir=str(tmp_path))

    assert command(path, "--website", "w1", "--json") == 0
    done = json.loads(capsys.readouterr().out)
    [record] = store.list(Import)
    assert done == {
        "id": record.id,
        "product": "Plausible",
        "kind": "totals",
        "rows": 2,
        "accepted": 2,
        "rejected": 1,
        "rejects": f"{path}.rejects.ndjson",
    }
    assert command(path, "--website", "w1") == 1
    assert f"was imported as {record.id}" in capsys.readouterr().err
    assert stored(config) == EXPECTED
    assert command(path, "--website", "w1", "--again") == 0
    assert stored(config) == sorted(EXPECTED * 2)
    assert states(store) == [("done", 0, 2, 1), ("done", 0, 2, 1)]


def test_a_run_that_was_killed_after_its_commit_is_repeated_without_a_second_copy(
    tmp_path: Path, store: RegistryStore, command: Callable[..., int], path: Path
) -> None:
    config = Settings(data_dir=str(tmp_path))
    killed = begin_or_resume(store, WEBSITE, SourceFile(path), again=False)
    store_totals(config, killed.id, [-2, -1])

    assert command(path, "--website", "w1") == 0

    assert store.get(Import, killed.id).state is ImportState.DONE
    assert count_rows(config, killed) == 2


def test_an_import_that_is_being_undone_stores_nothing(
    tmp_path: Path, store: RegistryStore, command: Callable[..., int], path: Path
) -> None:
    config = Settings(data_dir=str(tmp_path))
    command(path, "--website", "w1")
    [record] = store.list(Import)
    store.update(Import, record.id, 0, state=ImportState.UNDOING)
    ImportDeletion()(LakeTable(config, EVENTS), config)

    assert stored(config) == []
    assert command(path, "--website", "w1") == 0
    assert stored(config) == EXPECTED


def test_a_check_shows_rows_by_dimension_and_stores_nothing(
    tmp_path: Path,
    store: RegistryStore,
    command: Callable[..., int],
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(path, "--check", "--json") == 0

    shown = json.loads(capsys.readouterr().out)
    assert {name: shown[name] for name in ("product", "kind", "accepted", "rejected", "days")} == {
        "product": "Plausible",
        "kind": "totals",
        "accepted": 2,
        "rejected": 1,
        "days": {"2026-11-01": 1, "2026-11-02": 1},
    }
    assert shown["names"] == {"(whole website)": 2}
    assert shown["rows"][0] == {
        "day": "2026-11-01",
        "dimension": "",
        "visitors": 10,
        "page_views": 25,
    }
    assert command(path, "--check") == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "imported_visitors.csv: daily totals of Plausible"
    )
    assert store.list(Import) == []
    assert not (tmp_path / "lake").exists()


def test_a_dry_run_stores_nothing_and_names_the_rejected_lines(
    store: RegistryStore,
    command: Callable[..., int],
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(path, "--website", "w1", "--dry-run", "--json") == 0

    assert json.loads(capsys.readouterr().out)["accepted"] == 2
    assert "the day '' cannot be read" in Path(f"{path}.rejects.ndjson").read_text()
    assert store.list(Import) == []


def test_a_column_that_is_mapped_makes_the_lines_events(
    command: Callable[..., int], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(path, "--check", "--map", "visitors=path", "--map", "pageviews=name") == 0

    assert "2 events" in capsys.readouterr().out
