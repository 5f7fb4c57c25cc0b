"""Zip files, folders, zstd and Parquet: their lines, numbers and bounds."""

import gzip
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deploy.importer import containers
from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.file_check import check_file
from deploy.importer.file_sources import download
from deploy.importer.preview import preview
from deploy.importer.source_file import SourceFile


def a_zip(folder: Path, **files: bytes) -> Path:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_files_of_a_zip_are_read_in_order_and_numbered_through(tmp_path: Path) -> None:
    first, second = b'{"ts": 1, "name": "a"}\n{"ts": 2, "name": "b"}\n', b'{"ts": 3, "name": "c"}\n'
    path = a_zip(tmp_path, **{"b.json.gz": gzip.compress(second), "a.json": first, ".x": b"no"})

    file = SourceFile(path)

    assert [(line.number, line.fields["name"]) for line in file.lines()] == [
        *((1, "a"), (2, "b"), (3, "c")),
    ]
    assert file.fraction_read == 1.0


def test_a_folder_is_read_as_a_zip_is_and_known_again_until_a_file_changes(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    (folder / "day").mkdir(parents=True)
    (folder / "b.csv").write_text("ts,name\n2,b\n")
    (folder / "day" / "c.zst").write_bytes(pa.compress(b"ts,name\n3,c\n", "zstd", asbytes=True))
    a_zip(folder, **{"a.csv": b"ts,name\n1,a\n"})
    before = SourceFile(folder)

    (folder / "b.csv.rejects.ndjson").write_text("{}\n")
    again = SourceFile(folder)
    (folder / "b.csv").write_text("ts,name\n9,b\n")

    assert [(line.number, line.fields["name"]) for line in before.lines()] == [
        *((2, "b"), (4, "c"), (6, "a")),
    ]
    assert before.fingerprint == again.fingerprint != SourceFile(folder).fingerprint


def test_a_packed_file_that_unpacks_to_far_more_than_an_export_does_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "UNCHECKED_BYTES", 2**20)
    bomb = b"ts,name\n" + b"1,a\n" * 2**20

    for path in (a_zip(tmp_path, **{"a.csv": bomb}), tmp_path / "a.csv.gz"):
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(bomb))
        with pytest.raises(InvalidFile, match="unpacks to more than 300 times its size"):
            list(SourceFile(path).lines())


def test_zip_files_that_have_no_files_to_read_are_refused(
    tmp_path: Path,
) -> None:
    inner = a_zip(tmp_path, **{"a.csv": b"ts\n1\n"}).read_bytes()

    with pytest.raises(InvalidFile, match="a zip file in a zip file; unpack the outer one"):
        SourceFile(a_zip(tmp_path, **{"inner.zip": inner}))
    with pytest.raises(InvalidFile, match="is an Excel workbook; save its table as CSV"):
        SourceFile(a_zip(tmp_path, **{"[Content_Types].xml": b"<", "xl/a.xml": b"<"}))
    with pytest.raises(InvalidFile, match="contains no files"):
        SourceFile(a_zip(tmp_path, **{".DS_Store": b"1"}))
    encrypted = tmp_path / "encrypted.zip"
    encrypted.write_bytes(
        inner.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    )
    with pytest.raises(InvalidFile, match="is encrypted"):
        SourceFile(encrypted)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_of_a_zip_with_one_name_are_each_read_once(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (
            ("a.csv", "ts,name\n1,first\n"),
            ("a.csv (2)", "ts,name\n2,other\n"),
            ("a.csv", '{"ts": 3, "name": "second"}\n'),
        ):
            archive.writestr(name, text)

    file = SourceFile(path)

    assert [member.name for member in file.members] == ["a.csv", "a.csv (2)", "a.csv (2) (2)"]
    assert [line.fields["name"] for line in file.lines()] == ["first", "second", "other"]


def test_files_of_a_container_that_are_not_read_or_empty_are_named(tmp_path: Path) -> None:
    path, link = tmp_path / "export.zip", zipfile.ZipInfo("link.csv")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "a.csv")
        for name in ("../up.csv", ".hidden.csv", "a.rejects.ndjson", "a.csv"):
            archive.writestr(name, "ts,name\n1,a\n")
        archive.writestr("readme.txt", "made by hand\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text("ts,name\n1,a\n")
    (folder / ".b.csv").write_text("ts,name\n1,b\n")
    file, unpacked = SourceFile(path), SourceFile(folder)

    for one in (file, unpacked):
        check_file(one, ColumnMapper({}))
        assert [line.fields["name"] for line in one.lines()] == ["a"]

    assert unpacked.left_out == [".b.csv"]
    assert preview(file, ColumnMapper({})).files_left_out == [
        *("../up.csv", ".hidden.csv", "a.rejects.ndjson", "link.csv", "readme.txt"),
    ]


def test_every_file_of_a_container_is_checked(tmp_path: Path) -> None:
    path = a_zip(
        tmp_path,
        **{"a.csv": b"ts,name\n1,a\n", "b.csv": b"date,visitors,pageviews\n2026-11-01,1,2\n"},
    )

    with pytest.raises(InvalidMapping, match=r"b.csv: the file has totals .*Plausible"):
        check_file(SourceFile(path), ColumnMapper({}))


def imported(path: Path) -> list[dict[str, object]]:
    file, mapper = SourceFile(path), ColumnMapper({})
    check_file(file, mapper)
    return [mapper.event(line.fields) for line in file.lines()]


def test_posthog_as_parquet_has_its_properties_as_text(tmp_path: Path) -> None:
    row = {
        "uuid": "e1",
        "event": "$pageview",
        "distinct_id": "u7",
        "timestamp": datetime(2026, 11, 1, 10, tzinfo=UTC),
        "properties": '{"$current_url": "https://shop.example/a", "plan": "pro"}',
    }
    path = tmp_path / "events.parquet"
    table = pa.Table.from_pylist([row])
    nanoseconds = table["timestamp"].cast(pa.timestamp("ns", "UTC"))
    pq.write_table(table.set_column(3, "timestamp", nanoseconds), path)

    expected = {
        "timestamp": "2026-11-01T10:00:00Z",
        "name": "pageview",
        "eventId": "e1",
        "anonymousId": "u7",
        "path": "https://shop.example/a",
        "properties": {"plan": "pro"},
    }
    assert imported(path) == [expected]
    assert imported(a_zip(tmp_path, **{"events.parquet": path.read_bytes()})) == [expected]


def test_google_analytics_by_bigquery_as_parquet(tmp_path: Path) -> None:
    row = {
        "event_name": "purchase",
        "event_timestamp": 1_793_527_200_123_456,
        "user_pseudo_id": "1.2",
        "event_params": [
            {"key": "value", "value": {"int_value": 50, "string_value": None}},
            {"key": "plan", "value": {"int_value": None, "string_value": "pro"}},
        ],
    }
    path = tmp_path / "events.parquet"
    pq.write_table(pa.Table.from_pylist([row]), path)

    assert imported(path) == [
        {
            "timestamp": 1_793_527_200_123,
            "name": "purchase",
            "anonymousId": "1.2",
            "properties": {"value": 50, "plan": "pro"},
        }
    ]


def test_the_data_of_umamis_events_is_joined_from_its_own_file(tmp_path: Path) -> None:
    events = (
        "event_id,session_id,visit_id,hostname,url_path,event_type,event_name,created_at\n"
        "e1,s1,v1,shop.example,/a,1,,2026-11-01 10:00:00\n"
        "e2,s1,v1,shop.example,/a,2,buy,2026-11-01 10:01:00\n"
    )
    data = (
        "event_id,data_key,string_value,number_value,date_value,data_type\n"
        "e2,plan,pro,,,1\ne2,total,49.9000,49.9,,2\ne2,count,2.0000,2,,2\ne2,gift,true,,,3\n"
    )
    files = {"website_event.csv": events, "event_data.csv": data, "session_data.csv": "a,b\n1,2\n"}
    path = a_zip(tmp_path, **{name: text.encode() for name, text in files.items()})

    view, bought = imported(path)

    assert SourceFile(path).left_out == ["session_data.csv"]
    assert "properties" not in view
    assert (bought["name"], bought["properties"]) == (
        "buy",
        {"plan": "pro", "total": 49.9, "count": 2, "gift": True},
    )


def test_an_object_or_all_objects_of_a_folder_of_a_store_are_copied(tmp_path: Path) -> None:
    folder = tmp_path / "bucket" / "exports"
    (folder / "day").mkdir(parents=True)
    (folder / "a.csv").write_text("ts,name\n1,a\n")
    (folder / "day" / "b.csv").write_text("ts,name\n2,b\n")

    download(f"file://{folder}/a.csv", tmp_path / "a.csv")
    for url, copy in ((f"file://{folder}", "copy"), (f"file://{folder}/", "again")):
        download(url, tmp_path / copy)

    assert (tmp_path / "a.csv").read_text() == "ts,name\n1,a\n"
    for copy in ("copy", "again"):
        assert [line.fields["name"] for line in SourceFile(tmp_path / copy).lines()] == ["a", "b"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidFile, match="is no object, and no folder with objects"):
        download(f"file://{tmp_path}/empty", tmp_path / "none")
