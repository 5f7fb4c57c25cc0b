"""CSV and NDJSON files, packed or not: their lines, faults and fingerprints."""

import gzip
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.importer import member_lines
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.member_lines import EXPORT_COLUMNS, FileLine
from deploy.importer.source_file import SourceFile
from query.formats.columns import ColumnKind, ResultColumn
from query.formats.csv_ndjson import CsvWriter
from tests.deploy.importer.builders import a_file


def test_texts_that_an_export_kept_from_being_formulas_are_read_as_they_were(
    tmp_path: Path,
) -> None:
    names = ["=1+1", "'=1+1", "'", "'tis", "-1", "plain"]
    columns = [ResultColumn(name, ColumnKind.TEXT) for name in (*sorted(EXPORT_COLUMNS), "name")]
    writer = CsvWriter(columns)
    body = writer.start() + writer.rows([["", "", "", name] for name in names])

    exported = a_file(tmp_path, body.decode())
    foreign = a_file(tmp_path, "name,ts\r\n'=1,2\r\n", "foreign")

    assert [line.fields["name"] for line in exported.lines()] == names
    assert [line.fields["name"] for line in foreign.lines()] == ["'=1"]


def test_csv_is_read_with_quotes_and_lines_within_cells(tmp_path: Path) -> None:
    found = a_file(tmp_path, '\ufeffts;name\n1;"a;\nb"\n\n2\n3;c\n')

    assert (found.format, list(found.lines())) == (
        "csv",
        [
            FileLine(3, {"ts": "1", "name": "a;\nb"}),
            FileLine(5, text="2", reason="1 cells under 2 columns"),
            FileLine(6, {"ts": "3", "name": "c"}),
        ],
    )
    assert found.fraction_read == 1.0


def test_csv_of_excel_is_read_with_its_separator_line_and_columns_without_a_name(
    tmp_path: Path,
) -> None:
    found = a_file(tmp_path, "sep=;\r\n;ts;name;;\r\n7;1;a;;\r\n")
    quoted = a_file(tmp_path, '"sep=,"\nts,name\n1,"a;b"\n', "quoted")

    assert [line.fields for line in found.lines()] == [
        {"column 1": "7", "ts": "1", "name": "a", "column 4": "", "column 5": ""}
    ]
    assert [line.fields for line in quoted.lines()] == [{"ts": "1", "name": "a;b"}]


def test_ndjson_is_read_packed_too(tmp_path: Path) -> None:
    path = tmp_path / "visits.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n\n[2]\n{"a":\n{"a": 3}'))

    found = list(SourceFile(path).lines())

    assert [(line.number, line.fields) for line in found] == [
        (1, {"a": 1}), (3, {}), (4, {}), (5, {"a": 3}),
    ]  # fmt: skip
    assert all(line.reason.startswith("not a JSON object: ") for line in found[1:3])


def _damaged(packed: bytes) -> bytes:
    """With another type of the first block, which no decoder knows."""
    return packed[:10] + b"\xff" + packed[11:]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b'{"a": 1}\n' * 9, mtime=0)[:-9], "cannot be read further"),
        (_damaged(gzip.compress(b'{"a": 1}\n' * 99, mtime=0)), "cannot be read further"),
        (b'{"a": "\xff"}\n', "cannot be read further"),
        (b"a,b,a\n1,2,3\n", "must be a header with unique column names"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "visits"
    path.write_bytes(content)

    with pytest.raises(InvalidFile, match=message):
        list(SourceFile(path).lines())


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(InvalidFile, match="pipe is no file that can be read again"):
        SourceFile(pipe)


def test_the_same_file_is_known_again_by_any_name(tmp_path: Path) -> None:
    first = a_file(tmp_path, "ts\n1\n", "a.csv")
    again = a_file(tmp_path, "ts\n1\n", "b.csv")
    other = a_file(tmp_path, "ts\n2\n", "c.csv")

    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_a_json_array_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="visits is a JSON array; write one object per line"):
        a_file(tmp_path, '[{"ts": 1, "name": "a"}]')


@pytest.mark.parametrize("name", ["array.ndjson", "two words.json", "array.lines.ndjson"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_command_that_converts_an_array_writes_another_file(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(b'[{"ts": 1}, {"ts": 2}]'))

    with pytest.raises(InvalidFile) as raised:
        SourceFile(path)

    command = str(raised.value).partition("into another file: ")[2]
    source, _, target = command.partition(" | jq -c '.[]' > ")
    assert shlex.split(source)[-1] == name
    assert shlex.split(target) != [name]
    unpacked = subprocess.run(source, shell=True, cwd=tmp_path, capture_output=True, check=True)
    assert unpacked.stdout == b'[{"ts": 1}, {"ts": 2}]'


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"PK\x03\x04", "cannot be read as a zip file"),
        (b"PAR1", "cannot be read as Parquet"),
        (b"Obj\x01", "is an Avro file; export JSON lines"),
        (b"\x28\xb5\x2f\xfd", "cannot be read further"),
    ],
)
def test_a_binary_file_that_cannot_be_read_is_refused(
    tmp_path: Path, start: bytes, what: str
) -> None:
    path = tmp_path / "export"
    path.write_bytes(start + bytes(100))

    with pytest.raises(InvalidFile, match=f"export {what}"):
        list(SourceFile(path).lines())


def test_a_table_in_utf_16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("ts;title\n1;Überblick\n", "utf-16")

    assert [line.fields for line in SourceFile(path).lines()] == [{"ts": "1", "title": "Überblick"}]


def test_comments_before_the_header_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text("# ------\n# Pages; and, screens,\n\nts;name\n1;a\n")

    assert [line.fields for line in SourceFile(path).lines()] == [{"ts": "1", "name": "a"}]


@pytest.mark.parametrize("name", ["events.csv.gz", "events.ndjson.gz"])
def test_a_line_that_would_fill_memory_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_lines, "MAX_LINE_CHARACTERS", 1_000)
    start = "ts,name\n1,a\n2," if ".csv" in name else '{"ts": 1}\n{"name": "'
    path = tmp_path / name
    path.write_bytes(gzip.compress((start + "x" * 5_000 + "\n").encode()))

    with pytest.raises(InvalidFile, match=r"line \d has more than 1,000 characters"):
        list(SourceFile(path).lines())
