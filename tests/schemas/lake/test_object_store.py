"""Objects are read, listed and written once; whatever fails is an OSError within seconds."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from schemas.lake.object_store import ObjectFolder, is_object_store, storage_options
from tests.s3.server import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def objects(server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ObjectFolder:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return ObjectFolder(f"{server.url}/{tmp_path.name}")


def test_objects_are_read_whole_in_pieces_and_in_part(objects: ObjectFolder) -> None:
    content = bytes(range(256)) * 40_000

    assert objects.create("a/b.bin", content)

    assert objects.read("a/b.bin") == content
    assert objects.read_range("a/b.bin", 255, 3) == b"\xff\x00\x01"
    assert bytes(asyncio.run(objects.read_range_async("a/b.bin", 255, 3))) == b"\xff\x00\x01"
    assert objects.size("a/b.bin") == len(content)


def test_names_are_those_of_one_folder(objects: ObjectFolder) -> None:
    for name in ("log/2.json", "log/1.json", "log/deeper/3.json", "logs/4.json"):
        objects.create(name, b"x")

    assert objects.names("log") == ["1.json", "2.json"]
    assert objects.names("nowhere") == []
    assert objects.names("log", after="1.json") == ["2.json"]
    assert objects.names("log", after="2.json") == []


def test_one_of_many_writers_creates_an_object(objects: ObjectFolder) -> None:
    with ThreadPoolExecutor(8) as threads:
        created = list(threads.map(lambda n: objects.create("one", b"%d" % n), range(8)))

    assert sum(created) == 1
    assert objects.read("one") == b"%d" % created.index(True)


def test_an_object_that_does_not_exist_is_a_missing_file(objects: ObjectFolder) -> None:
    with pytest.raises(FileNotFoundError):
        objects.read("nothing")
    with pytest.raises(FileNotFoundError):
        objects.size("nothing")


def test_a_store_that_is_away_is_an_os_error_of_one_line(
    objects: ObjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    away = ObjectFolder(objects.url)

    with pytest.raises(OSError, match=r"^Generic S3 error: .*127\.0\.0\.1:1/") as raised:
        away.read("anything")
    assert "\n" not in str(raised.value)


def test_options_are_for_object_stores_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://store.example")
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)

    assert [is_object_store(url) for url in ("/lake", "file:///lake", "s3://b/lake")] == [
        False,
        False,
        True,
    ]
    assert storage_options("/lake") is None
    assert (storage_options("s3://b/lake") or {})["allow_http"] == "false"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert (storage_options("s3://b/lake") or {})["allow_http"] == "true"
