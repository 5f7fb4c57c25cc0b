"""The cache stays within its bytes, and a process that dies leaves nothing that stays."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from query.engine.cache_folder import CacheFolder, CacheFull, Reservation
from schemas.lake.data_files import checksum
from tests.installation import ROOT

LONG_AGO = 3_600


def stored(cache: CacheFolder, name: str, size: int, age: float = LONG_AGO) -> Path:
    path = cache.path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (time.time() - age,) * 2)
    return path


def names(cache: CacheFolder) -> list[str]:
    return sorted(path.name for path in cache.folder.rglob("*.parquet"))


def test_the_longest_unused_files_make_room(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=1_000)
    stored(cache, "events/a.parquet", 400, age=3_000)
    stored(cache, "events/b.parquet", 400, age=2_000)
    assert cache.use("events/a.parquet", 400)

    Reservation(cache, 500).make()

    assert names(cache) == ["a.parquet"]


def test_files_that_were_just_used_are_not_removed(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=1_000)
    stored(cache, "events/a.parquet", 600)
    cache.use("events/a.parquet", 600)

    with pytest.raises(CacheFull):
        Reservation(cache, 500).make()
    assert names(cache) == ["a.parquet"]


def test_reserved_bytes_count_until_they_are_released(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, max_bytes=1_000)
    first, second = Reservation(cache, 700), Reservation(cache, 700)
    first.make()

    with pytest.raises(CacheFull):
        second.make()
    first.release()
    second.make()
    second.release()
    late = Reservation(cache, 700)
    late.release()
    late.make()  # released before it was made: it holds nothing
    Reservation(cache, 1_000).make()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib\n"
        "from query.engine.cache_folder import CacheFolder, Reservation\n"
        "cache = CacheFolder(pathlib.Path(sys.argv[1]), 1_000)\n"
        "Reservation(cache, 900).make()\n"
        "part = cache.open_part('events/a.parquet')\n"
        "part.write(memoryview(b'half'))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=False)
    assert list(tmp_path.rglob("*.part"))

    reservation = Reservation(CacheFolder(tmp_path, 1_000), 900)
    reservation.make()
    reservation.release()

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".lock"]


def test_one_process_writes_a_file(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, 1_000)
    content = b"PAR1" * 3
    name = f"events/day=2026-11-21/{'0' * 32}-{checksum(content)}.parquet"
    part = cache.open_part(name)
    assert part is not None

    assert cache.open_part(name) is None
    part.write(memoryview(content))
    assert (part.finish(len(content)), cache.path(name).read_bytes()) == (None, content)
    part.close()
    assert cache.use(name, len(content))


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"PAR1 PAR1", "has 9 bytes, not 12"), (b"PAR1xxxxPAR2", "has a wrong checksum")],
)
def test_a_file_that_is_not_what_was_stored_gets_no_name(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    cache = CacheFolder(tmp_path, 1_000)
    name = f"events/day=2026-11-21/{'0' * 32}-{checksum(b'PAR1xxxxPAR1')}.parquet"
    part = cache.open_part(name)
    assert part is not None
    part.write(memoryview(content))

    assert part.finish(12) == problem
    part.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_copy_of_another_size_is_fetched_again(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path, 1_000)
    stored(cache, "events/a.parquet", 10)

    assert not cache.use("events/a.parquet", 11)
    assert names(cache) == []
