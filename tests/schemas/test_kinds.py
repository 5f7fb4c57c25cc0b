"""One more kind of item needs its declaration only."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repo.source_tree import ROOT

PROGRAM = Path(__file__).with_name("one_more_kind.py")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process shows whose kinds have one more; lists of kinds are read at import."""
    command = (sys.executable, PROGRAM, tmp_path_factory.mktemp("kind"))
    process = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    shown: dict[str, Any] = json.loads(process.stdout)
    return shown


def test_the_collector_accepts_it_on_its_route_and_on_mixed_routes(shown: dict[str, Any]) -> None:
    assert shown["statuses"] == [200, 200, 200]
    assert shown["topics"] == ["ratings", "ratings", "ratings"]
    assert shown["rejected"] == "'stars' must be at most 5"


def test_its_topic_is_created(shown: dict[str, Any]) -> None:
    assert shown["kafka"][-1] == "ratings"


def test_both_documents_describe_it(shown: dict[str, Any]) -> None:
    assert shown["described"] == "Track items of kind rating"
    assert "rating" in shown["types"]
    assert shown["enum"] is True


def test_custom_queries_and_exports_read_what_workers_stored(shown: dict[str, Any]) -> None:
    assert shown["listed"] == ["ratings by visitors"]
    assert sum(row["stars"] for row in shown["sum"]) == 6
    assert shown["exported"] == [
        {"stars": 4, "answers": '{"why":["fast"]}'},
        {"stars": 2, "answers": None},
    ]
