"""Uploaded files: checked, refused with a reason, removed; tests/flow sends them."""

import os
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deploy.importer.preview import Preview
from deploy.importer.stored_rows import count_rows
from deploy.importer.uploads import Uploads, check_result
from schemas.registry import Import, ImportState, RegistryStore
from schemas.registry.validation import new_import
from schemas.runtime.settings import Settings
from schemas.runtime.uploads import uploads_folder
from tests.deploy.importer.builders import NOW, WEBSITE

LINES = (
    b"timestamp,path,anonymous_id,shoe\n"
    b"2019-03-01T10:00:00Z,/old,ann,42\n"
    b"2019-03-02T10:00:00Z,/new,ann,42\n"
    b",/bad,bob,42\n"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    uploads_folder(tmp_path).mkdir()
    return Settings(data_dir=str(tmp_path))


def uploaded(
    settings: Settings, store: RegistryStore, content: bytes, **changes: Any
) -> tuple[Import, Path]:
    """An import whose file the service has just taken."""
    record = store.create(new_import(WEBSITE, "visits.csv", NOW))
    path = uploads_folder(settings.data) / f"{record.id}.abc"
    path.write_bytes(content)
    fields = {"state": ImportState.CHECKING, "upload": {"file": path.name}, **changes}
    return store.update(Import, record.id, NOW, **fields), path


def run(settings: Settings) -> None:
    uploads = Uploads(settings, threading.Event())
    uploads.run_cycle()
    uploads.wait()


def test_a_file_is_checked_and_nothing_of_it_is_stored(
    settings: Settings, store: RegistryStore
) -> None:
    record, path = uploaded(settings, store, LINES)

    run(settings)
    after = store.get(Import, record.id)

    assert (after.state, after.lines, after.accepted, path.exists()) == ("checked", 0, 0, True)
    assert after.upload["check"] == {
        "kind": "events",
        "product": "no known export; columns are recognized by their names",
        "recognizedBy": [],
        "note": "",
        "files": 1,
        "filesLeftOut": [],
        "accepted": 2,
        "rejected": 1,
        "names": {"pageview": 2},
        "days": {"2019-03-01": 1, "2019-03-02": 1},
        "firstDay": "2019-03-01",
        "lastDay": "2019-03-02",
        "reasons": {"'timestamp' is required": 1},
        "columns": {"timestamp": "timestamp", "path": "path", "anonymous_id": "anonymousId"},
        "ignoredColumns": ["shoe"],
        "factsLeftOut": {},
        "rows": [
            {
                "name": "pageview", "timestamp": "2019-03-01T10:00:00Z", "path": "/old",
                "anonymousId": "ann",
            },
            {
                "name": "pageview", "timestamp": "2019-03-02T10:00:00Z", "path": "/new",
                "anonymousId": "ann",
            },
        ],
    }  # fmt: skip


def test_daily_totals_are_checked_and_stored(settings: Settings, store: RegistryStore) -> None:
    totals = b"date,visitors,pageviews,bounces,visits,visit_duration\n2019-03-01,3,9,1,4,120\n"
    record, path = uploaded(settings, store, totals)

    run(settings)
    checked = store.get(Import, record.id)
    store.update(Import, record.id, NOW, state=ImportState.IMPORTING)
    run(settings)
    run(settings)

    check = checked.upload["check"]
    assert (checked.state, check["kind"], check["product"]) == ("checked", "totals", "Plausible")
    assert (check["names"], check["days"]) == ({"(whole website)": 1}, {"2019-03-01": 1})
    after = store.get(Import, record.id)
    assert (after.state, after.accepted, path.exists()) == ("done", 1, False)
    assert count_rows(settings, after) == 1


def test_the_same_file_again_says_so(settings: Settings, store: RegistryStore) -> None:
    first, _ = uploaded(settings, store, LINES)
    run(settings)
    store.update(Import, first.id, NOW, state=ImportState.DONE)
    second, _ = uploaded(settings, store, LINES)

    run(settings)

    assert store.get(Import, second.id).upload["check"]["importedAs"] == first.id


def bomb(path: Path) -> bytes:
    with zipfile.ZipFile(path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        line = b"2019-03-01T10:00:00Z,/" + b"x" * 100_000 + b"\n"
        archive.writestr("visits.csv", b"timestamp,path\n" + line * 1_000)
    return (path / "bomb.zip").read_bytes()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"PK\x03\x04 not a zip file", "visits.csv cannot be read as a zip file: "),
        (b"date,visitors,carts\n2019-03-01,3,9\n", "; the command `tidemark import` has --map"),
        (b"timestamp,path\n", "visits.csv contains no events"),
        (b"timestamp,path\nmonday,/a\n", "no line of visits.csv is a valid event; "),
        (b"time,shoe\n1,2\n", "line 2: the line has neither the name of an event nor a page"),
    ],
)
def test_a_file_that_cannot_be_imported_has_failed_and_is_removed(
    settings: Settings, store: RegistryStore, content: bytes, problem: str
) -> None:
    record, path = uploaded(settings, store, content)

    run(settings)
    after = store.get(Import, record.id)

    assert problem in after.upload["problem"]
    assert (after.state, path.exists()) == ("failed", False)


def test_a_zip_bomb_is_refused(settings: Settings, store: RegistryStore, tmp_path: Path) -> None:
    record, path = uploaded(settings, store, bomb(tmp_path))

    run(settings)
    after = store.get(Import, record.id)

    assert "unpacks to more than 300 times its size" in after.upload["problem"]
    assert (after.state, path.exists()) == ("failed", False)


@pytest.mark.parametrize(
    ("state", "remains"),
    [
        (ImportState.CHECKED, True),
        (ImportState.UNDOING, False),
        (ImportState.UNDONE, False),
        (ImportState.DONE, False),
        (ImportState.FAILED, False),
    ],
)
def test_a_file_is_removed_when_its_import_is_over(
    settings: Settings, store: RegistryStore, state: ImportState, remains: bool
) -> None:
    rows = {"rows": [{"name": "secret"}], "accepted": 1}
    record, path = uploaded(settings, store, LINES, state=state)
    store.update(Import, record.id, NOW, upload={"file": path.name, "check": rows})

    run(settings)

    assert path.exists() is remains
    assert store.get(Import, record.id).upload["check"]["rows"] == (rows["rows"] if remains else [])


def test_a_file_that_nobody_starts_is_removed_after_a_day(
    settings: Settings, store: RegistryStore
) -> None:
    record, path = uploaded(settings, store, LINES, state=ImportState.CHECKED)
    os.utime(path, (0, time.time() - 86_500))

    run(settings)
    after = store.get(Import, record.id)

    assert (after.state, path.exists()) == ("failed", False)
    assert after.upload["problem"].startswith("nobody started the import within a day")


def test_other_files_are_removed_when_nobody_can_be_about_to_name_them(
    settings: Settings, store: RegistryStore
) -> None:
    record, path = uploaded(settings, store, LINES, state=ImportState.CHECKED)
    folder = uploads_folder(settings.data)
    for name in (f"{record.id}.other", f"{record.id}.new.part", "imp_gone.x", "imp_gone.y.part"):
        (folder / name).write_bytes(b"")
    os.utime(folder / f"{record.id}.other", (0, 0))

    run(settings)

    left = {f"{record.id}.new.part", "imp_gone.y.part", path.name}
    assert {file.name for file in folder.iterdir()} == left


def test_the_result_of_a_check_has_bounds() -> None:
    days = {f"{year}-03-{day:02}": 1 for year in range(2000, 2013) for day in range(1, 31)}
    found = Preview(
        "events", "P", (), "", 1, [], 390, 0, {f"n{at}": 1 for at in range(500)}, days,
        {"r" * 1000: 1}, {}, [], {}, [{"properties": {"text": "x" * 1000}, "name": "n"}],
    )  # fmt: skip

    result = check_result(found)

    assert len(result["names"]) == 100
    assert result["days"] == {f"{year}-03": 30 for year in range(2000, 2013)}
    assert (result["firstDay"], result["lastDay"]) == ("2000-03-01", "2012-03-30")
    assert list(result["reasons"]) == ["r" * 300 + "…"]
    cut = '{"text":"' + "x" * 291 + "…"
    assert result["rows"] == [{"properties": cut, "name": "n"}]
