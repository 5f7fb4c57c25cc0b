"""The file of rejected lines, over one run or several."""

import json
from pathlib import Path

import pytest

from deploy.importer import rejects_file
from deploy.importer.rejects_file import RejectedLine, RejectsFile


def test_rejects_are_in_the_order_of_lines_of_one_run_or_of_those_that_go_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rejects"

    def written(since: int, *numbers: int) -> list[int]:
        rejects = RejectsFile(path, since)
        rejects.write([RejectedLine(number, "no", "") for number in numbers])
        rejects.close()
        return [json.loads(line)["line"] for line in path.read_text().splitlines()]

    assert written(0, 3, 2, 5) == [2, 3, 5]
    with path.open("a") as file:
        file.write('{"line": 6, "rea')  # cut off by a kill
    assert written(3, 4, 7) == [2, 3, 4, 7]
    assert written(0, 1) == [1]
    RejectsFile(path).close()
    assert not path.exists()


def test_a_full_file_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejects_file, "MAX_BYTES", 200)
    path = tmp_path / "rejects"

    for since, numbers in ((0, range(1, 1000)), (2, range(3, 9))):
        rejects = RejectsFile(path, since)
        rejects.write([RejectedLine(number, "no", "x" * 40) for number in numbers])
        rejects.write([RejectedLine(2000, "no", "x")])
        rejects.close()

        *kept, last = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["line"] for line in kept] == [1, 2]
        assert last == {"reason": "this file is full: further rejected lines are counted only"}
