"""Spool: requests on disk while Kafka is away; one fsync for all that wait for it.

`<data>/spool/<process>.<token>/` is the folder of one process, made with its first request and
locked while it runs. Whoever gets the lock of another folder delivers what is in it: its process
has ended. Nothing is opened while Kafka is there and no folder is left over.
"""

import asyncio
import fcntl
import logging
import os
import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ingest.publishing.partition_queue import DeliveryReport, DeliveryStatus, PendingDelivery
from ingest.publishing.spool_file import (
    REFUSED_SUFFIX,
    SUFFIX,
    Slot,
    SpooledRequest,
    SpoolFile,
    encode_spooled,
    with_idempotency_key,
)
from schemas.runtime.clock import Clock
from schemas.runtime.files import matching_files
from schemas.runtime.settings import Settings
from schemas.spool_deliveries import (
    SPOOL_FOLDER,
    Delivery,
    delete_old_deliveries,
    delivered_numbers,
    deliveries_path,
    spool_id,
    write_deliveries,
)

log = logging.getLogger(__name__)

MIB = 1024 * 1024
FILE_BYTES = 4 * MIB
"""Size after which a file takes no more requests."""
MAX_UNSYNCED_BYTES = 16 * MIB
"""Requests in memory that wait for the disk."""
RETRY_MS = 1_000
"""After a write that failed."""
HOUR_MS = 3_600_000
LOCK_FILE = "lock"


class Waiting(Struct, frozen=True):
    """A request that is in a spool file and not in Kafka."""

    file: SpoolFile
    number: int
    request: SpooledRequest

    @property
    def size(self) -> int:
        return sum(map(len, self.request.envelopes))


class CommitGroup:
    """Requests that share one write and one fsync."""

    def __init__(self, file: SpoolFile, report: "asyncio.Future[DeliveryReport]") -> None:
        self.file = file
        self.report = report
        self.data = bytearray()
        self.requests = 0
        self.deadline: asyncio.TimerHandle | None = None

    def complete(self, status: DeliveryStatus) -> None:
        """Tell all requests of the group; only the first status counts."""
        if self.deadline is not None:
            self.deadline.cancel()
        if not self.report.done():
            self.report.set_result(DeliveryReport(status))


class Spool:
    """The spool files of this process, and of processes that ended."""

    def __init__(self, settings: Settings, process: str, clock: Clock) -> None:
        self._data = settings.data
        self._root = settings.data / SPOOL_FOLDER
        self._token = secrets.token_hex(6)
        self._folder = self._root / f"{process}.{self._token}"
        self._limit_bytes = settings.spool_mb * MIB
        self._limit_ms = int(settings.spool_hours * HOUR_MS)
        self._timeout_seconds = settings.produce_seconds
        self._clock = clock
        self._locks: dict[Path, int] = {}
        """Descriptors of the locked folders."""
        self._files: list[SpoolFile] = []
        """In the order of delivery, those of other processes first."""
        self._active: SpoolFile | None = None
        self._created = 0
        self._groups: deque[CommitGroup] = deque()
        self._unsynced_bytes = 0
        self._commit_task: asyncio.Task[None] | None = None
        self.changed = asyncio.Event()
        """Set when there may be something to deliver."""
        self.bytes = 0
        self.requests = 0
        """Undelivered ones."""
        self.cut_bytes = 0
        """Ends of files that were torn when their process ended."""
        self.damaged_requests = 0
        """Requests that the disk damaged: they are lost."""
        self.requests_set_aside = 0
        self.refused_files_removed = 0
        """Files with requests set aside, older than requests may wait."""
        self.problem: str | None = None
        """Why the last write failed."""
        self._retry_at_ms = 0

    @property
    def oldest_ms(self) -> int | None:
        """Time of receipt of the oldest undelivered request, or somewhat before."""
        return next((file.first_ms for file in self._files if file.undelivered), None)

    @property
    def has_unread(self) -> bool:
        """Whether requests that are on disk were not read yet."""
        return any(not file.is_read for file in self._files)

    def refusal(self, size: int) -> str | None:
        """Why a request of this size is not taken."""
        if self.bytes + size > self._limit_bytes:
            return f"the spool is full ({self._limit_bytes // MIB} MB)"
        oldest = self.oldest_ms
        if oldest is not None and self._clock() - oldest > self._limit_ms:
            return f"its oldest request waits for more than {self._limit_ms / HOUR_MS:g} hours"
        if self.problem is not None and self._clock() < self._retry_at_ms:
            return f"the spool cannot be written ({self.problem})"
        if self._unsynced_bytes + size > MAX_UNSYNCED_BYTES:
            return "the disk of the spool does not keep up"
        return None

    def append(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        """Add a request to the group that is written next; the report comes after the fsync."""
        file = self._writable_file()
        number, now = file.requests, self._clock()
        id_ = spool_id(file.name, number)
        keyed = [with_idempotency_key(envelope, f"spool:{id_}") for envelope in envelopes]
        data = encode_spooled(SpooledRequest(topic, partition_key, items, now, keyed, number))
        group = self._groups[-1] if self._groups else None
        if group is None or group.file is not file:
            group = self._open_group(file)
        group.data += data
        group.requests += 1
        file.first_ms = file.first_ms or now
        file.requests += 1
        file.size += len(data)
        self.bytes += len(data)
        self._unsynced_bytes += len(data)
        if self._commit_task is None:
            self._commit_task = asyncio.get_running_loop().create_task(self._commit_groups())
        return PendingDelivery(group.report, 0, id_)

    def _writable_file(self) -> SpoolFile:
        file = self._active
        if file is None or file.failed or file.size >= FILE_BYTES:
            self._created += 1
            path = self._folder / f"{self._token}-{self._created:06d}{SUFFIX}"
            file = self._active = SpoolFile(path)
            self._files.append(file)
        return file

    def _open_group(self, file: SpoolFile) -> CommitGroup:
        loop = asyncio.get_running_loop()
        group = CommitGroup(file, loop.create_future())
        group.deadline = loop.call_later(
            self._timeout_seconds, group.complete, DeliveryStatus.UNKNOWN
        )
        self._groups.append(group)
        return group

    async def _commit_groups(self) -> None:
        try:
            while self._groups:
                group = self._groups.popleft()
                status = await self._commit(group)
                self._unsynced_bytes -= len(group.data)
                group.complete(status)
        finally:
            self._commit_task = None

    async def _commit(self, group: CommitGroup) -> DeliveryStatus:
        """SPOOLED, or UNKNOWN if the write failed: some of it may be on disk."""
        try:
            if group.file.failed:  # numbers of requests are their places in the file
                raise OSError(self.problem)
            await asyncio.to_thread(self._write, group)
        except OSError as error:
            if self.problem is None:
                log.error("spool not written", extra={"reason": str(error)})
            self.problem = str(error)
            self._retry_at_ms = self._clock() + RETRY_MS
            group.file.size -= len(group.data)
            self.bytes -= len(group.data)
            self.changed.set()
            if not group.file.request_bytes:
                self._forget(group.file)
                with suppress(OSError):
                    group.file.path.unlink(missing_ok=True)
                    deliveries_path(self._data, group.file.name).unlink(missing_ok=True)
            return DeliveryStatus.UNKNOWN
        self.problem = None
        group.file.undelivered += group.requests
        self.requests += group.requests
        self.changed.set()
        return DeliveryStatus.SPOOLED

    def _write(self, group: CommitGroup) -> None:
        if self._folder not in self._locks:
            self._create_folder()
        if group.file.is_new:
            # A receipt without this file is of another machine, or old.
            deliveries = deliveries_path(self._data, group.file.name)
            deliveries.parent.mkdir(exist_ok=True)
            deliveries.touch()
        group.file.append(bytes(group.data))

    def _create_folder(self) -> None:
        """Lock it under another name first: nobody else may take it for one that is left over."""
        self._root.mkdir(parents=True, exist_ok=True)
        is_there = self._folder.is_dir()  # with a file that was set aside
        folder = self._folder if is_there else self._root / f".{self._folder.name}"
        folder.mkdir(exist_ok=True)
        descriptor = try_lock(folder)
        if descriptor is None:
            raise OSError(f"{folder} is locked by another process")
        if not is_there:
            folder.rename(self._folder)
        self._locks[self._folder] = descriptor
        log.warning("requests are spooled, as kafka is away", extra={"folder": str(self._folder)})

    async def read(self, max_bytes: int) -> list[Waiting]:
        """The next undelivered requests that are on disk, in order; none when all were read."""
        while (file := next((f for f in self._files if not f.is_read), None)) is not None:
            damaged_before = file.damaged
            try:
                requests = await asyncio.to_thread(file.read, max_bytes)
            except OSError as error:
                self._give_up(file, error)
                continue
            if damaged := file.damaged - damaged_before:
                self._count_damaged(file, damaged)
            if requests:
                return [Waiting(file, number, request) for number, request in requests]
        return []

    def _count_damaged(self, file: SpoolFile, requests: int) -> None:
        log.error("spooled requests damaged", extra={"file": file.name, "requests": requests})
        file.undelivered -= requests
        self.requests -= requests
        self.damaged_requests += requests

    def _give_up(self, file: SpoolFile, error: OSError) -> None:
        """Deliver nothing more of a file that cannot be read; it is left where it is."""
        log.error(
            "spooled requests cannot be read",
            extra={"file": str(file.path), "reason": str(error), "requests": file.undelivered},
        )
        self.problem = str(error)
        self._forget(file)

    async def mark_delivered(self, deliveries: Sequence[tuple[Waiting, Delivery]]) -> None:
        """Remember where Kafka has these requests."""
        rows: dict[SpoolFile, list[tuple[int, Delivery]]] = {}
        for waiting, delivery in deliveries:
            rows.setdefault(waiting.file, []).append((waiting.number, delivery))
        for file, of_file in rows.items():
            try:
                await asyncio.to_thread(
                    write_deliveries, deliveries_path(self._data, file.name), of_file
                )
            except OSError as error:  # a second delivery is dropped by deduplication
                log.warning("deliveries not written", extra={"reason": str(error)})
            file.undelivered -= len(of_file)
            if file in self._files:
                self.requests -= len(of_file)

    def set_aside(self, waiting: Waiting, reason: str) -> None:
        """Keep the file of a request that its topic does not take any more."""
        log.error("spooled request set aside", extra={"file": waiting.file.name, "reason": reason})
        waiting.file.keep = True
        waiting.file.undelivered -= 1
        self.requests -= 1
        self.requests_set_aside += 1

    def remove_delivered(self) -> None:
        """Delete the files whose requests are all in Kafka."""
        for file in list(self._files):
            if file.undelivered or not file.is_read or file.size > file.synced:
                continue
            try:
                file.remove()
            except OSError as error:  # tried again with the next one, or by the next process
                log.warning("spool file not removed", extra={"reason": str(error)})
            self._forget(file)
            if not self._files:
                log.warning("spool is drained")
        self._release_folders()

    def _release_folders(self) -> None:
        """Delete the folders without files, and their locks."""
        if self._commit_task is not None:
            return  # it may be making one
        in_use = {file.path.parent for file in self._files}
        for folder in self._locks.keys() - in_use:
            remove_if_empty(folder)
            os.close(self._locks.pop(folder))

    def _forget(self, file: SpoolFile) -> None:
        self._files.remove(file)
        self.bytes -= file.request_bytes
        self.requests -= file.undelivered
        if file is self._active:
            self._active = None
            file.close()

    async def adopt(self) -> set[Slot]:
        """Take over the folders of processes that ended; the slots of what is undelivered."""
        if not self._root.is_dir():
            return set()
        locks, files, slots = await asyncio.to_thread(self._adopt_folders)
        self._locks |= locks
        self._files[:0] = files
        for file in files:
            self.bytes += file.request_bytes
            self.requests += file.undelivered
        if files:
            self.changed.set()
        self._release_folders()
        return slots

    def _adopt_folders(self) -> tuple[dict[Path, int], list[SpoolFile], set[Slot]]:
        locks: dict[Path, int] = {}
        files: list[SpoolFile] = []
        slots: set[Slot] = set()
        for folder in sorted(self._root.glob("*.*")):
            if folder in self._locks or folder.name.startswith("."):
                continue
            try:
                descriptor = try_lock(folder)
                if descriptor is None:
                    continue
                locks[folder] = descriptor
                for file, of_file in self._recover(folder):
                    files.append(file)
                    slots |= of_file
            except FileNotFoundError:
                continue  # another process has emptied it
            except OSError as error:
                log.error("spool not taken over", extra={"reason": str(error)})
        delete_old_deliveries(self._data, {file.name for file in (*files, *self._files)})
        self._remove_old_refused_files()
        return locks, files, slots

    def _remove_old_refused_files(self) -> None:
        """Delete files with requests set aside that are older than requests may wait."""
        oldest = time.time() - self._limit_ms / 1000
        for path in matching_files(self._root, f"*.*/*{REFUSED_SUFFIX}"):
            with suppress(FileNotFoundError):  # another collector was first
                if path.stat().st_mtime >= oldest:
                    continue
                path.unlink()
                self.refused_files_removed += 1
                log.error("requests set aside are too old, removed", extra={"file": path.name})

    def _recover(self, folder: Path) -> Iterator[tuple[SpoolFile, set[Slot]]]:
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            file = SpoolFile(path)
            try:
                delivered = delivered_numbers(deliveries_path(self._data, file.name))
                slots, cut = file.recover(delivered)
            except OSError as error:  # the files after it are delivered all the same
                log.error("spool file not read", extra={"file": path.name, "reason": str(error)})
                continue
            self.cut_bytes += cut
            log.warning(
                "spool file of an ended process",
                extra={"file": path.name, "requests": file.undelivered, "bytes_cut": cut},
            )
            yield file, slots

    async def close(self) -> None:
        """Finish writing, and leave the rest to the next process."""
        if self._commit_task is not None:
            await self._commit_task
        if self.requests:
            log.warning("requests stay in the spool", extra={"requests": self.requests})
        for file in self._files:
            file.close()
        for folder, descriptor in list(self._locks.items()):
            remove_if_empty(folder)
            os.close(descriptor)


def has_spooled_requests(data: Path) -> bool:
    """Whether a process has left requests, also one with other settings."""
    folder = data / SPOOL_FOLDER
    return any(matching_files(folder, f"*.*/*{suffix}") for suffix in (SUFFIX, REFUSED_SUFFIX))


def try_lock(folder: Path) -> int | None:
    """The descriptor of its lock, which ends with the process; None if another process has it."""
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def remove_if_empty(folder: Path) -> None:
    """Delete a folder of which only the lock is left."""
    with suppress(OSError):
        if [path.name for path in folder.iterdir()] == [LOCK_FILE]:
            (folder / LOCK_FILE).unlink()
            folder.rmdir()
