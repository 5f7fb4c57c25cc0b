"""Large objects are read in ranges from a real store: in order, and within the bounds."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from query.engine.range_reader import OBJECT_REQUESTS, RangeReader
from schemas.lake.object_store import ObjectFolder, StoreUnreachable
from tests.s3.server import S3Server

RANGE = 1_000
CONTENT = bytes(number * 7 % 256 for number in range(25 * RANGE + 1))


class CountingFolder(ObjectFolder):
    """Counts the requests that run at once."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.starts: list[int] = []
        self.running = self.most = 0

    async def read_range_async(self, name: str, start: int, length: int) -> memoryview:
        self.starts.append(start)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await super().read_range_async(name, start, length)
        finally:
            self.running -= 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def objects(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountingFolder:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    folder = CountingFolder(f"{server.url}/{tmp_path.name}")
    folder.put("large", CONTENT)
    return folder


async def read(reader: RangeReader, name: str, size: int) -> bytes:
    async with aclosing(reader.pieces(name, size)) as pieces:
        return b"".join([bytes(piece) async for piece in pieces])


def test_the_ranges_of_an_object_are_in_order_and_read_once(objects: CountingFolder) -> None:
    reader = RangeReader(objects, RANGE)

    assert asyncio.run(read(reader, "large", len(CONTENT))) == CONTENT
    assert sorted(objects.starts) == [*range(0, len(CONTENT), RANGE)]
    assert 1 < objects.most <= OBJECT_REQUESTS


def test_a_small_object_is_one_request(objects: CountingFolder) -> None:
    objects.put("small", CONTENT[:RANGE])

    assert asyncio.run(read(RangeReader(objects, RANGE), "small", RANGE)) == CONTENT[:RANGE]
    assert objects.starts == [0]


@pytest.mark.parametrize("requests", [1, 2, 5])
def test_many_reads_share_few_requests(objects: CountingFolder, requests: int) -> None:
    async def read_all() -> list[bytes]:
        reader = RangeReader(objects, RANGE, requests)
        return await asyncio.gather(*(read(reader, "large", len(CONTENT)) for _ in range(8)))

    assert set(asyncio.run(read_all())) == {CONTENT}
    assert objects.most <= requests


def test_a_read_that_is_left_early_frees_its_requests(objects: CountingFolder) -> None:
    async def leave_and_read() -> bytes:
        reader = RangeReader(objects, RANGE, requests=3)
        for _ in range(4):
            async with aclosing(reader.pieces("large", len(CONTENT))) as pieces:
                await anext(pieces)
        assert objects.running == 0
        return await read(reader, "large", len(CONTENT))

    assert asyncio.run(leave_and_read()) == CONTENT


def test_an_object_that_is_missing_or_too_short_is_noticed(objects: CountingFolder) -> None:
    async def read_both() -> None:
        reader = RangeReader(objects, RANGE)
        with pytest.raises(FileNotFoundError):
            await read(reader, "nothing", len(CONTENT))
        assert len(await read(reader, "large", len(CONTENT) + 5)) == len(CONTENT)
        with pytest.raises(StoreUnreachable):
            await read(reader, "large", len(CONTENT) + 2 * RANGE)

    asyncio.run(read_both())
