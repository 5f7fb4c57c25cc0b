"""`tidemark scrub` and `tidemark doctor` tell an operator which data files are damaged."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from deploy.cli import main
from deploy.local.doctor import CheckContext
from deploy.local.doctor.tables import DATA_FILES_CHECK, LOGS_CHECK
from deploy.local.status import system_status
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.query.lake import Lake, a_vital, an_event
from tests.registries import make_registry


def test_a_damaged_data_file_is_named_by_scrub_doctor_and_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
    lake = Lake(tmp_path / "lake")
    lake.holds(an_event(), an_event())
    main(["scrub"])
    assert capsys.readouterr().out == "1 data files read; 0 damaged\n"

    [file] = lake.paths(EVENTS)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(SystemExit) as ill:
        main(["scrub"])
    lines = capsys.readouterr().out.splitlines()

    path, scope = (
        f"{file.parent.name}/{file.name}",
        CheckContext(Settings(data_dir=str(tmp_path)), True),
    )
    assert ill.value.code == 1
    assert lines == [
        f"events: {path} has a wrong checksum",
        "1 data files read; 1 damaged",
        "fix: tidemark doctor --repair; for one file: tidemark repair TABLE/PATH",
    ]
    assert [one.subject for one in DATA_FILES_CHECK.run(scope)] == [f"events/{path}"]
    assert [one.subject for one in DATA_FILES_CHECK.run(replace(scope, checksums=False))] == [
        f"events/{path}"
    ]
    assert list(LOGS_CHECK.run(scope)) == []
    named = f"data file {path} of table 'events' has a wrong checksum (2 rows)"
    assert named in system_status(scope.settings).problems


def test_a_table_whose_log_is_damaged_keeps_the_scrub_of_no_other_one_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
    lake = Lake(tmp_path / "lake")
    lake.holds(an_event(), a_vital("LCP", 1200))
    entry = tmp_path / "lake" / "events" / "_delta_log" / f"{0:020}.json"
    entry.write_bytes(b"")

    with pytest.raises(SystemExit) as ill:
        main(["scrub"])

    assert ill.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        f"events: _delta_log cannot be opened ({entry.parent}: {entry.name} is empty)",
        "1 data files read; 1 damaged",
        "fix: tidemark doctor --repair; for one file: tidemark repair TABLE/PATH",
    ]
    make_registry(Settings(data_dir=str(tmp_path)).registry_url)
    with pytest.raises(SystemExit) as refused:
        main(["repair", "events/day=2026-11-20/a.parquet"])
    assert refused.value.code == 1
    assert capsys.readouterr().err == (
        f"tidemark: {entry.parent}: {entry.name} is empty; run tidemark doctor\n"
    )
