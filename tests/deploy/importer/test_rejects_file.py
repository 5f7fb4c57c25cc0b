"""The file of rejected lines, over one run or several."""

import json
from pathlib import Path

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
