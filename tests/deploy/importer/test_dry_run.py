"""A dry run through the command line."""

import json
from pathlib import Path

import pytest

from deploy.cli import main
from schemas.registry import Import, RegistryStore


def test_a_dry_run_validates_and_stores_nothing(
    tmp_path: Path,
    store: RegistryStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(
        "date,colour,device,url\n2019-03-01,red,car,/\n2199-01-01,red,tv,/\n,red,tv,/\n"
    )
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    main(["import", "--website", "w1", "--dry-run", "--json", str(path)])

    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "accepted": 1,
        "rejected": 2,
        "rejects": f"{path}.rejects.ndjson",
        "columns": {"date": "timestamp", "url": "path", "device": "device_type"},
        "ignoredColumns": ["colour"],
        "factsLeftOut": {"device_type": 1},
    }
    assert "no column has sessions" in printed.err
    assert store.list(Import) == []
