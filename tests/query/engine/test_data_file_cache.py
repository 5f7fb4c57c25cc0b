"""Data files are fetched once, in ranges, and a fetch that is no longer needed stops."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from query.engine.cache_folder import CacheFolder
from query.engine.data_file_cache import OBJECT_REQUESTS, DataFileCache, FetchFailed, RangeReader
from schemas.errors import QueryTimeout, QueryTooHeavy, Unavailable
from schemas.lake.data_files import checksum
from schemas.lake.delta_table import DataFile
from schemas.lake.object_store import ObjectFolder, StoreUnreachable
from schemas.telemetry.instruments import REGISTRY
from tests.installation import eventually
from tests.s3.server import S3Server

CONTENT = b"PAR1" + bytes(92) + b"PAR1"


class SlowStore(ObjectFolder):
    """An object store in memory, whose objects arrive in ranges, after a pause."""

    def __init__(self, **objects: bytes) -> None:
        self.url = "s3://bucket/lake"
        self.objects = objects
        self.streamed: list[str] = []
        self.started = asyncio.Event()
        self.pause = asyncio.Event()
        self.pause.set()
        self.error: Exception | None = None

    async def read_range_async(self, name: str, start: int, length: int) -> memoryview:
        self.streamed.append(name)
        if self.error:
            raise self.error
        try:
            content = self.objects[name.rpartition("-")[2].removesuffix(".parquet")]
        except KeyError:
            raise FileNotFoundError(name) from None
        self.started.set()
        await self.pause.wait()
        return memoryview(content[start : start + length])


def a_file(number: int, content: bytes = CONTENT, size: int = 100) -> DataFile:
    name = f"{number:032x}-{checksum(content)}.parquet"
    path = f"s3://bucket/lake/events/day=2026-11-21/{name}"
    return DataFile(path, "2026-11-21", 1, size, None, None, None)


def a_store(content: bytes = CONTENT) -> SlowStore:
    return SlowStore(**{checksum(CONTENT): content})


def a_cache(
    folder: Path, store: SlowStore, max_bytes: int = 1_000, seconds: float = 5.0
) -> DataFileCache:
    return DataFileCache(store, CacheFolder(folder, max_bytes), seconds)


def files_in(folder: Path) -> list[str]:
    found = (path.name for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if name != ".lock")


def test_concurrent_queries_fetch_a_file_once(tmp_path: Path) -> None:
    async def scenario() -> tuple[SlowStore, list[list[str]]]:
        store = a_store()
        cache = a_cache(tmp_path, store, max_bytes=200)  # room for each file once
        fetched = await asyncio.gather(*(cache.fetch([a_file(1), a_file(2)]) for _ in range(5)))
        await cache.fetch([a_file(2)])
        return store, fetched

    store, fetched = asyncio.run(scenario())

    assert len(store.streamed) == 2
    assert all(Path(path).read_bytes() == CONTENT for path in fetched[0])
    assert fetched == [fetched[0]] * 5


def test_a_fetch_that_ends_while_another_query_looks_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> SlowStore:
        store = a_store()
        store.pause.clear()
        cache = a_cache(tmp_path, store, max_bytes=100)  # room for the file once
        loop, look = asyncio.get_running_loop(), cache._missing

        def look_slowly(data_files: Iterable[DataFile]) -> list[DataFile]:
            missing = look(data_files)
            if cache._fetches:
                loop.call_soon_threadsafe(store.pause.set)
                eventually(lambda: not cache._fetches)
            return missing

        monkeypatch.setattr(cache, "_missing", look_slowly)
        first = asyncio.create_task(cache.fetch([a_file(1)]))
        await store.started.wait()
        await cache.fetch([a_file(1)])
        await first
        return store

    assert len(asyncio.run(scenario()).streamed) == 1


def test_hits_and_misses_are_counted(tmp_path: Path) -> None:
    def counted(outcome: str) -> float:
        name = "tidemark_cached_file_reads_total"
        return REGISTRY.get_sample_value(name, {"outcome": outcome}) or 0

    async def scenario() -> None:
        cache = a_cache(tmp_path, a_store())
        await cache.fetch([a_file(1)])
        await cache.fetch([a_file(1), a_file(2)])

    hits, misses = counted("hit"), counted("miss")
    asyncio.run(scenario())

    assert (counted("hit") - hits, counted("miss") - misses) == (1, 2)


def test_two_processes_fetch_a_file_once(tmp_path: Path) -> None:
    async def scenario() -> int:
        stores = [a_store(), a_store()]
        caches = [a_cache(tmp_path, store) for store in stores]
        await asyncio.gather(*(cache.fetch([a_file(1)]) for cache in caches))
        return sum(len(store.streamed) for store in stores)

    assert asyncio.run(scenario()) == 1


def test_a_fetch_that_nobody_waits_for_leaves_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = a_store()
        store.pause.clear()
        cache = a_cache(tmp_path, store)
        queries = [asyncio.create_task(cache.fetch([a_file(1)])) for _ in range(2)]
        await store.started.wait()
        queries[0].cancel()
        await asyncio.sleep(0.05)
        assert any(name.endswith(".part") for name in files_in(tmp_path))
        queries[1].cancel()
        await asyncio.gather(*queries, return_exceptions=True)
        await asyncio.sleep(0.05)

    asyncio.run(scenario())

    assert files_in(tmp_path) == []


def test_what_was_fetched_before_the_deadline_stays(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = a_store()
        cache = a_cache(tmp_path, store, seconds=0.3)
        await cache.fetch([a_file(1)])
        store.pause.clear()
        with pytest.raises(QueryTimeout, match=r"timed out while .* 0 of 1 data files are here"):
            await cache.fetch([a_file(1), a_file(2)])
        await asyncio.sleep(0.05)

    asyncio.run(scenario())

    assert files_in(tmp_path) == [a_file(1).path.rpartition("/")[2]]


def test_a_missing_and_a_damaged_file_are_named(tmp_path: Path) -> None:
    async def scenario(store: SlowStore, data_file: DataFile) -> str:
        with pytest.raises(FetchFailed) as failed:
            await a_cache(tmp_path, store).fetch([data_file])
        assert failed.value.data_file == data_file
        return failed.value.problem

    assert asyncio.run(scenario(SlowStore(), a_file(1))) == "is missing"
    assert asyncio.run(scenario(a_store(bytes(100)), a_file(1))) == "has a wrong checksum"
    assert files_in(tmp_path) == []


def test_a_store_that_is_away_is_unavailable(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = a_store()
        store.error = OSError("connection refused")
        with pytest.raises(Unavailable, match=r"object store .* connection refused"):
            await a_cache(tmp_path, store).fetch([a_file(1)])

    asyncio.run(scenario())


def test_a_query_beyond_the_cache_is_too_heavy(tmp_path: Path) -> None:
    async def scenario() -> None:
        cache = a_cache(tmp_path, a_store(), max_bytes=150)
        with pytest.raises(QueryTooHeavy, match="TIDEMARK_LAKE_CACHE_MB"):
            await cache.fetch([a_file(1), a_file(2)])
        await cache.fetch([a_file(1)])
        with pytest.raises(Unavailable, match="full of files in use"):
            await cache.fetch([a_file(2)])

    asyncio.run(scenario())


def test_a_damaged_copy_is_discarded_and_fetched_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        cache = a_cache(tmp_path, a_store())
        await cache.fetch([a_file(1)])
        copy = tmp_path / a_file(1).path.removeprefix("s3://bucket/lake/")
        assert not cache.discard_damaged([a_file(1)])
        damage(copy)
        assert cache.discard_damaged([a_file(1)])
        assert await cache.fetch([a_file(1)]) == [str(copy)]
        assert not cache.discard_damaged([a_file(1)])

    asyncio.run(scenario())


def damage(copy: Path) -> None:
    copy.write_bytes(bytes(100))


RANGE = 1_000
LARGE_OBJECT = bytes(number * 7 % 256 for number in range(25 * RANGE + 1))


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
    folder.put("large", LARGE_OBJECT)
    return folder


async def read(reader: RangeReader, name: str, size: int) -> bytes:
    async with aclosing(reader.pieces(name, size)) as pieces:
        return b"".join([bytes(piece) async for piece in pieces])


def test_the_ranges_of_an_object_are_in_order_and_read_once(objects: CountingFolder) -> None:
    reader = RangeReader(objects, RANGE)

    assert asyncio.run(read(reader, "large", len(LARGE_OBJECT))) == LARGE_OBJECT
    assert sorted(objects.starts) == [*range(0, len(LARGE_OBJECT), RANGE)]
    assert 1 < objects.most <= OBJECT_REQUESTS


def test_a_small_object_is_one_request(objects: CountingFolder) -> None:
    objects.put("small", LARGE_OBJECT[:RANGE])

    assert asyncio.run(read(RangeReader(objects, RANGE), "small", RANGE)) == LARGE_OBJECT[:RANGE]
    assert objects.starts == [0]


@pytest.mark.parametrize("requests", [1, 2, 5])
def test_many_reads_share_few_requests(objects: CountingFolder, requests: int) -> None:
    async def read_all() -> list[bytes]:
        reader = RangeReader(objects, RANGE, requests)
        return await asyncio.gather(*(read(reader, "large", len(LARGE_OBJECT)) for _ in range(8)))

    assert set(asyncio.run(read_all())) == {LARGE_OBJECT}
    assert objects.most <= requests


def test_a_read_that_is_left_early_frees_its_requests(objects: CountingFolder) -> None:
    async def leave_and_read() -> bytes:
        reader = RangeReader(objects, RANGE, requests=3)
        for _ in range(4):
            async with aclosing(reader.pieces("large", len(LARGE_OBJECT))) as pieces:
                await anext(pieces)
        assert objects.running == 0
        return await read(reader, "large", len(LARGE_OBJECT))

    assert asyncio.run(leave_and_read()) == LARGE_OBJECT


def test_an_object_that_is_missing_or_too_short_is_noticed(objects: CountingFolder) -> None:
    async def read_both() -> None:
        reader = RangeReader(objects, RANGE)
        with pytest.raises(FileNotFoundError):
            await read(reader, "nothing", len(LARGE_OBJECT))
        assert len(await read(reader, "large", len(LARGE_OBJECT) + 5)) == len(LARGE_OBJECT)
        with pytest.raises(StoreUnreachable):
            await read(reader, "large", len(LARGE_OBJECT) + 2 * RANGE)

    asyncio.run(read_both())
