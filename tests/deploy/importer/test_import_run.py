"""An import sends full requests in order, resumes, and notes what is rejected."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from deploy.importer import import_run
from deploy.importer.column_mapping import ColumnMapper
from deploy.importer.import_run import ImportProgress, run_import
from deploy.importer.rejects_file import RejectsFile
from deploy.importer.sender import MAX_ITEMS, CollectorReply, ItemRejection
from deploy.importer.source_file import SourceFile
from tests.deploy.importer.builders import a_file, lines


class Collector:
    """Accepts all items except the refused names; may become unavailable."""

    def __init__(self, refused: Sequence[str] = (), gone_after: int = 99) -> None:
        self.names: list[str] = []
        self._refused = refused
        self._left = gone_after

    def __call__(self, items: list[bytes]) -> CollectorReply:
        if not self._left:
            raise ConnectionError
        self._left -= 1
        decoded = [msgspec.json.decode(item) for item in items]
        bad = [
            ItemRejection(i, "no")
            for i, item in enumerate(decoded)
            if item["name"] in self._refused
        ]
        assert [item["line"] for item in decoded] == [int(i["name"][1:]) for i in decoded]
        self.names += [item["name"] for item in decoded if item["name"] not in self._refused]
        return CollectorReply(len(items) - len(bad), bad)


def test_requests_are_full_and_in_order_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    file = a_file(tmp_path, lines(2 * MAX_ITEMS + 7))
    sending = run_import(
        file, ColumnMapper({}), ImportProgress(), Collector(gone_after=2), RejectsFile(None)
    )

    at = [next(sending), next(sending)][-1]
    with pytest.raises(ConnectionError):
        next(sending)
    assert at == ImportProgress(2 * MAX_ITEMS, 2 * MAX_ITEMS, 0)
    *_, at = run_import(file, ColumnMapper({}), at, another := Collector(), RejectsFile(None))

    assert at == ImportProgress(2 * MAX_ITEMS + 7, 2 * MAX_ITEMS + 7, 0)
    assert another.names == [f"e{n}" for n in range(2 * MAX_ITEMS + 1, 2 * MAX_ITEMS + 8)]


def test_rejects_are_written_with_line_and_reason(tmp_path: Path) -> None:
    file = a_file(tmp_path, lines(2) + "broken\n" + '{"ts": 1004, "name": "e4"}\n')
    rejects = RejectsFile(tmp_path / "rejects")

    *_, at = run_import(file, ColumnMapper({}), ImportProgress(), Collector(["e2"]), rejects)
    rejects.close()

    written = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert at == ImportProgress(4, 2, 2)
    assert [(each["line"], each["content"]) for each in written] == [
        (2, {"ts": 1002, "name": "e2"}), (3, "broken"),
    ]  # fmt: skip
    assert written[0]["reason"] == "no"


def test_a_time_that_cannot_be_read_is_named_with_the_forms_that_can(tmp_path: Path) -> None:
    file = a_file(tmp_path, "ts,name\n05/06/2026,e2\n1003,e3\n")
    rejects = RejectsFile(tmp_path / "rejects")

    *_, at = run_import(file, ColumnMapper({}), ImportProgress(), Collector(), rejects)
    rejects.close()

    assert at == ImportProgress(3, 1, 1)
    assert json.loads((tmp_path / "rejects").read_text()) == {
        "line": 2,
        "reason": "the time '05/06/2026' cannot be read; write ISO 8601 like 2026-06-05T10:00:00Z, "
        "or Unix seconds, milliseconds or microseconds",
        "content": {"ts": "05/06/2026", "name": "e2"},
    }


def test_a_large_item_goes_alone_rather_than_beyond_the_limit(tmp_path: Path) -> None:
    text = json.dumps({"ts": 1001, "name": "e1", "properties": {"x": "y" * 600_000}})
    file = a_file(tmp_path, f"{text}\n{text.replace('e1', 'e2')}\n")
    sizes: list[int] = []

    def send(items: list[bytes]) -> CollectorReply:
        sizes.append(len(items))
        return CollectorReply(len(items))

    list(run_import(file, ColumnMapper({}), ImportProgress(), send, RejectsFile(None)))

    assert sizes == [1, 1]


def test_a_damaged_cell_ends_no_import(tmp_path: Path) -> None:
    """Nested at all depths around the limit of the parsers, half a character, long lines."""
    deep = [f'{{"ts": 1, "name": "e", "properties": {"[" * n}{"]" * n}}}' for n in
            (*range(900, 1100, 10), 100_000)]  # fmt: skip
    half = '{"ts": 1, "name": "e", "properties": "{\\"a\\": \\"\\\\ud800\\"}"}'
    damaged = [*deep, half, "x" * 1_000_000]
    at_line = len(damaged) + 1
    good = f'{{"ts": 1, "name": "e{at_line}"}}'
    file = SourceFile(a_file(tmp_path, "\n".join([*damaged, good])).path, "ndjson")
    rejects, collector = RejectsFile(tmp_path / "rejects"), Collector()

    def send(items: list[bytes]) -> CollectorReply:
        return collector([item for item in items if b'"e"' not in item])

    *_, at = run_import(file, ColumnMapper({}), ImportProgress(), send, rejects)
    rejects.close()

    reasons = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert (at.lines, collector.names) == (at_line, [f"e{at_line}"])
    assert "cannot be sent: 'utf-8' codec" in reasons[-2]["reason"]
    assert reasons[-1]["content"] == "x" * 1_000_000


def test_a_batch_holds_few_long_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_run, "MAX_HELD_CHARACTERS", 99)
    file = a_file(
        tmp_path, f"ts,name,comment\n1,e2,{'x' * 60}\n" + f"2,{'y' * 60}\n" * 2 + "3,e5,\n"
    )

    batches = [len(batch) for batch in import_run.request_batches(file, ColumnMapper({}), 0)]

    assert batches == [2, 2]
