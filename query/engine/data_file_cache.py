"""Data files of an object store, fetched once into the local cache of the machine.

Files are immutable, so a path names its content for ever. A fetch that is no longer needed is
stopped and leaves nothing; files that were complete by then stay, so a repeated query gets further.

Objects are read in ranges, several at once, with a bound on memory and connections: one request for
a large object has the bandwidth of one connection, and must end within the time limit of a request.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path

from msgspec import Struct

from query.engine.cache_folder import CacheFolder, CacheFull, Reservation
from schemas.errors import QueryTimeout, QueryTooHeavy, Unavailable
from schemas.lake.delta_table import DataFile
from schemas.lake.object_store import ObjectFolder, StoreUnreachable, describe
from schemas.telemetry.instruments import CACHED_FILE_READS

RANGE_BYTES = 4 * 2**20
CONCURRENT_REQUESTS = 16
"""Connections, and ranges in memory (64 MiB), of all reads of a process."""
OBJECT_REQUESTS = 8
"""Ranges of one object that are read ahead."""


class RangeReader:
    """Reads objects of one store; for one event loop."""

    def __init__(
        self,
        objects: ObjectFolder,
        range_bytes: int = RANGE_BYTES,
        requests: int = CONCURRENT_REQUESTS,
    ) -> None:
        self._objects = objects
        self._range_bytes = range_bytes
        self._slots = asyncio.Semaphore(requests)

    async def pieces(self, name: str, size: int) -> AsyncGenerator[memoryview, None]:
        """The first `size` bytes of an object in order; fewer when it is shorter.

        FileNotFoundError when there is no object; close the iterator when it is left early.
        """
        reading: deque[asyncio.Task[memoryview]] = deque()
        try:
            for start in range(0, size, self._range_bytes):
                # Nothing of this object waits for a slot while it holds one: none waits for ever.
                while reading and (len(reading) >= OBJECT_REQUESTS or self._slots.locked()):
                    yield await reading[0]
                    self._end(reading)
                await self._slots.acquire()
                length = min(self._range_bytes, size - start)
                read = self._objects.read_range_async(name, start, length)
                reading.append(asyncio.create_task(read))
            while reading:
                yield await reading[0]
                self._end(reading)
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            while reading:
                self._end(reading)

    def _end(self, reading: "deque[asyncio.Task[memoryview]]") -> None:
        """The oldest range is written, or not needed: its memory and connection are free."""
        reading.popleft()
        self._slots.release()


CONCURRENT_FETCHES = 16
"""Files; `RangeReader` bounds their requests and memory."""
OTHER_PROCESS_SECONDS = 0.02
"""Pause before looking again for a file that another process fetches."""
REMEMBERED_SECONDS = 20.0
"""Time during which a file that was used need not be looked for."""
MAX_REMEMBERED = 50_000
MAGIC = b"PAR1"


class FetchFailed(Exception):
    """A data file is missing in the object store, or is not what was stored."""

    def __init__(self, data_file: DataFile, problem: str) -> None:
        super().__init__(f"{data_file.path} {problem}")
        self.data_file = data_file
        self.problem = problem


class Fetch(Struct, eq=False):
    """A running fetch, and how many queries wait for it."""

    name: str
    task: "asyncio.Task[None]"
    waiting: int = 0


class DataFileCache:
    """The data files of one lake; for the event loop of one process."""

    def __init__(
        self,
        objects: ObjectFolder,
        cache: CacheFolder,
        seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._objects = objects
        self._cache = cache
        self._seconds = seconds
        self._clock = clock
        self._fetches: dict[str, Fetch] = {}
        self._starting = asyncio.Lock()
        self._reader = RangeReader(objects)
        self._slots = asyncio.Semaphore(CONCURRENT_FETCHES)
        self._used_at: dict[str, float] = {}

    @property
    def folder(self) -> str:
        return str(self._cache.folder)

    def local_path(self, data_file: DataFile) -> str:
        return str(self._cache.path(self._name(data_file)))

    async def fetch(self, data_files: Sequence[DataFile]) -> list[str]:
        """Fetch what the cache does not have."""
        unsure = [each for each in data_files if not self._was_used(self.local_path(each))]
        CACHED_FILE_READS.labels("hit").inc(len(data_files) - len(unsure))
        if unsure:
            await self._fetch_missing(unsure)
            self._remember(self.local_path(each) for each in unsure)
        return [self.local_path(data_file) for data_file in data_files]

    def keep(self, paths: Iterable[str]) -> None:
        unsure = [Path(path) for path in paths if not self._was_used(path)]
        for path in unsure:
            if path.exists():
                path.touch()
        self._remember(map(str, unsure))

    def remove_others(self, data_files: Iterable[DataFile]) -> None:
        """Remove the copies of all other files; a query that needs one fetches it again."""
        self._cache.remove_others({self._name(each) for each in data_files})
        self._used_at.clear()

    def discard_damaged(self, data_files: Sequence[DataFile]) -> bool:
        damaged = [each for each in data_files if self._cache.discard(self._name(each), each.size)]
        for data_file in damaged:
            self._used_at.pop(self.local_path(data_file), None)
        return bool(damaged)

    async def problem(self, data_file: DataFile) -> str | None:
        try:
            return await asyncio.to_thread(self._frame_problem, data_file)
        except FileNotFoundError:
            return "is missing"

    def _frame_problem(self, data_file: DataFile) -> str | None:
        name, length = self._name(data_file), len(MAGIC)
        if (size := self._objects.size(name)) != data_file.size:
            return f"has {size} bytes, not {data_file.size}"
        ends = [self._objects.read_range(name, at, length) for at in (0, size - length)]
        return None if ends == [MAGIC, MAGIC] else "is not a Parquet file"

    async def _fetch_missing(self, data_files: Sequence[DataFile]) -> None:
        fetches: list[Fetch] = []
        try:
            async with asyncio.timeout(self._seconds):
                async with self._starting:  # one after the other: no file is reserved twice
                    await self._start(data_files, fetches)
                await _wait(fetches)
        except TimeoutError:
            raise self._timed_out(data_files) from None
        finally:
            self._leave(fetches)

    async def _start(self, data_files: Sequence[DataFile], fetches: list[Fetch]) -> None:
        """Join the running fetches of what is missing; make room for the others and start them."""
        missing = await asyncio.to_thread(self._missing, data_files)
        self._remember({*map(self.local_path, data_files)} - {*map(self.local_path, missing)})
        CACHED_FILE_READS.labels("hit").inc(len(data_files) - len(missing))
        CACHED_FILE_READS.labels("miss").inc(len(missing))
        running = [self._fetches.get(self._name(data_file)) for data_file in missing]
        fetches += (_join(fetch) for fetch in running if fetch)
        # A fetch may have ended since the folder was read: its file is remembered then.
        new = [
            each
            for each, fetch in zip(missing, running, strict=True)
            if not fetch and not self._was_used(self.local_path(each))
        ]
        if new:
            reservation = Reservation(self._cache, sum(data_file.size for data_file in new))
            try:
                await asyncio.to_thread(reservation.make)
            except CacheFull:
                raise self._too_heavy(sum(data_file.size for data_file in missing)) from None
            except asyncio.CancelledError:
                reservation.release()
                raise
            fetches += (_join(self._start_fetch(each, reservation)) for each in new)

    def _start_fetch(self, data_file: DataFile, reservation: Reservation) -> Fetch:
        name = self._name(data_file)
        fetch = Fetch(name, asyncio.create_task(self._fetch(data_file, name)))
        self._fetches[name] = fetch

        def end(task: "asyncio.Task[None]") -> None:
            reservation.shrink(data_file.size)
            self._forget(fetch)
            if not task.cancelled() and task.exception() is None:
                self._remember([self.local_path(data_file)])

        fetch.task.add_done_callback(end)
        return fetch

    def _leave(self, fetches: Iterable[Fetch]) -> None:
        """The last query to leave a fetch stops it."""
        for fetch in fetches:
            fetch.waiting -= 1
            if not fetch.waiting:
                fetch.task.cancel()
                self._forget(fetch)

    def _forget(self, fetch: Fetch) -> None:
        if self._fetches.get(fetch.name) is fetch:
            del self._fetches[fetch.name]

    def _too_heavy(self, needed: int) -> QueryTooHeavy | Unavailable:
        if needed > self._cache.max_bytes:
            return QueryTooHeavy(
                f"The query needs {needed / 2**20:,.0f} MB of data files that are not on this "
                f"machine, more than its cache holds ({self._cache.max_bytes / 2**20:,.0f} MB, "
                "TIDEMARK_LAKE_CACHE_MB); use a shorter time range"
            )
        return Unavailable("The cache of data files is full of files in use; retry", 5)

    def _timed_out(self, missing: Sequence[DataFile]) -> QueryTimeout:
        fetched = sum(self._was_used(self.local_path(data_file)) for data_file in missing)
        return QueryTimeout(
            f"The query timed out while its data was fetched from the object store: {fetched} of "
            f"{len(missing)} data files are here now; repeat the query, it continues with the "
            "others, or use a shorter time range"
        )

    async def _fetch(self, data_file: DataFile, name: str) -> None:
        async with self._slots:
            while (part := await asyncio.to_thread(self._cache.open_part, name)) is None:
                await asyncio.sleep(OTHER_PROCESS_SECONDS)
                if self._cache.use(name, data_file.size):
                    return
            try:
                if self._cache.use(name, data_file.size):
                    return  # another process was faster
                async with aclosing(self._reader.pieces(name, data_file.size)) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(part.write, piece)
                if problem := await asyncio.to_thread(part.finish, data_file.size):
                    raise FetchFailed(data_file, problem)
            except FileNotFoundError:
                raise FetchFailed(data_file, "is missing") from None
            except StoreUnreachable:
                # A range behind the end of a file that is too short is refused.
                size = await asyncio.to_thread(self._objects.size, name)
                if size < data_file.size:
                    raise FetchFailed(
                        data_file, f"has {size} bytes, not {data_file.size}"
                    ) from None
                raise
            finally:
                part.close()

    def _missing(self, data_files: Iterable[DataFile]) -> list[DataFile]:
        return [each for each in data_files if not self._cache.use(self._name(each), each.size)]

    def _name(self, data_file: DataFile) -> str:
        return data_file.path.removeprefix(f"{self._objects.url}/")

    def _was_used(self, path: str) -> bool:
        return self._clock() - self._used_at.get(path, 0.0) < REMEMBERED_SECONDS

    def _remember(self, paths: Iterable[str]) -> None:
        if len(self._used_at) > MAX_REMEMBERED:
            self._used_at.clear()
        self._used_at |= dict.fromkeys(paths, self._clock())


def _join(fetch: Fetch) -> Fetch:
    fetch.waiting += 1
    return fetch


async def _wait(fetches: Sequence[Fetch]) -> None:
    """Wait for all, or for the first that fails; what others wait for goes on."""
    if not fetches:
        return
    tasks = [fetch.task for fetch in fetches]
    ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    try:
        for task in ended:
            task.result()
    except OSError as error:
        raise Unavailable(
            f"The object store of the tables cannot be read: {describe(error)}"
        ) from None
