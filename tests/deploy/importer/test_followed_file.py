"""A log that grows: complete lines, rotation, and how it is known again."""

import math
from pathlib import Path

import pytest

from deploy.importer.csv_rows import InvalidFile
from deploy.importer.followed_file import FollowedFile
from tests.pauses import replace_pauses

LINE = '192.0.2.7 - - [01/Nov/2026:10:00:00 +0000] "GET /{} HTTP/1.1" 200 5\n'


def numbers_and_requests(file: FollowedFile) -> list[tuple[int, str]]:
    return [(line.number, line.fields.get("request", line.reason)) for line in file.lines()]


def test_a_line_counts_once_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_pauses(monkeypatch, lambda _: None)
    path = tmp_path / "access.log"
    path.write_text(LINE.format("a") + LINE.format("b")[:30])
    file = FollowedFile(path)

    first = numbers_and_requests(file)
    with path.open("a") as log:
        log.write(LINE.format("b")[30:] + "broken\n")
    grew = file.wait_for_lines(until=math.inf)
    second = numbers_and_requests(file)
    file.close()

    assert first == [(1, "GET /a HTTP/1.1")]
    assert grew
    assert second == [
        (2, "GET /b HTTP/1.1"),
        (3, "no line of an access log in the common or combined format"),
    ]


def test_lines_before_a_rotation_are_read_and_the_new_file_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "access.log"
    path.write_text(LINE.format("a"))
    file, again = FollowedFile(path), FollowedFile(path)
    assert len(numbers_and_requests(file)) == 1

    def rotate(_: float) -> None:
        with path.open("a") as log:
            log.write(LINE.format("last"))
        path.rename(tmp_path / "access.log.1")
        path.write_text(LINE.format("new"))

    replace_pauses(monkeypatch, rotate)
    is_the_same = file.wait_for_lines(until=math.inf)
    last, new = numbers_and_requests(file), FollowedFile(path)

    assert (is_the_same, last) == (False, [(2, "GET /last HTTP/1.1")])
    assert file.fingerprint == again.fingerprint != new.fingerprint
    for each in (file, again, new):
        each.close()


def test_only_logs_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("ts,name\n1,a\n")

    with pytest.raises(InvalidFile, match=r"visits.csv cannot be followed: it must be an access"):
        FollowedFile(path)
