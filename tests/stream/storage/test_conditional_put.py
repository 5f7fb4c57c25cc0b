"""Nothing is written to an object store that would replace commits."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.lake.object_store import ObjectFolder
from stream.runtime.errors import LakeUnreachable, UnsafeStore
from stream.storage.object_store import PROBE, await_store, check_conditional_put
from tests.s3.server import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(autouse=True)
def _reached(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


def test_a_store_that_keeps_the_first_object_is_accepted_again_and_again(
    server: S3Server, tmp_path: Path
) -> None:
    lake = f"{server.url}/{tmp_path.name}"

    for _ in range(2):
        check_conditional_put(lake)

    assert ObjectFolder(lake).read(PROBE) == b"first"
    check_conditional_put(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_replaces_objects_is_refused(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(objects: ObjectFolder, name: str, content: bytes) -> bool:
        objects._obstore.put(objects._store, name, content)
        return True

    monkeypatch.setattr(ObjectFolder, "create", put)

    with pytest.raises(UnsafeStore, match="If-None-Match"):
        check_conditional_put(f"{server.url}/{tmp_path.name}")


def test_a_store_that_is_away_is_named(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(LakeUnreachable, match=f"^{server.url} cannot be reached: "):
        check_conditional_put(server.url)


def test_a_store_that_comes_back_is_waited_for(
    server: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.kill()
    try:
        with pytest.raises(LakeUnreachable):
            asyncio.run(await_store(server.url, 0))
        waiting = threading.Thread(target=lambda: asyncio.run(await_store(server.url, 60)))
        waiting.start()
        time.sleep(1)
        assert waiting.is_alive()
    finally:
        server.start()
    waiting.join(20)

    assert not waiting.is_alive()
    assert [r.getMessage() for r in caplog.records] == ["waiting for the object store"]
