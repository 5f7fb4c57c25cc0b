"""The newest version of a table in an object store that stops answering."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from query.engine.newest_version import CheckedVersion, NewestVersion
from schemas.errors import Unavailable
from schemas.lake.committed_offsets import NO_VERSION
from schemas.lake.table_location import table_url
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.storage.table_setup import open_or_create
from tests.s3.server import S3Server

WAIT_SECONDS = 1.0


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """With a table of events."""
    with S3Server(tmp_path) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        settings = Settings(lake=running.url, data_dir=str(tmp_path / "data"))
        open_or_create(table_url(running.url, EVENTS), EVENTS, settings)
        yield running


def test_who_waits_for_a_store_without_answer_is_told_in_time(server: S3Server) -> None:
    async def ask() -> tuple[list[object], float, CheckedVersion]:
        with ThreadPoolExecutor() as threads:
            newest = NewestVersion(server.url, EVENTS, lambda: 1, threads)

            def get() -> "asyncio.Task[CheckedVersion]":
                return asyncio.create_task(newest.get(0.0, NO_VERSION, False, WAIT_SECONDS))

            known = await get()
            server.freeze()
            began = time.monotonic()
            refused = await asyncio.gather(*(get() for _ in range(5)), return_exceptions=True)
            waited = time.monotonic() - began
            server.thaw()
            while True:
                try:
                    return [known[0].number, *refused], waited, await get()
                except Unavailable:  # the first read may not have ended yet
                    continue

    (number, *refused), waited, later = asyncio.run(ask())

    assert number == 0
    assert [type(each) for each in refused] == [Unavailable] * 5
    assert waited < 3 * WAIT_SECONDS
    assert later[0].number == 0
