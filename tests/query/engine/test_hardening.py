"""What the kernel permits to the threads of an engine, with Landlock and without it."""

import logging
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from query.engine import hardening
from query.engine.hardening import PoolLimits, connect_hardened, restrict_thread
from tests.query.engine.forbidden_writes import WRITES

LIMITS = PoolLimits(memory_mb=64, threads=1, concurrency=1, max_queued=1)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages about a kernel without Landlock."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == hardening.__name__ and record.levelno == logging.WARNING
    ]


def test_the_kernel_lets_the_threads_of_an_engine_write_nowhere_in_the_lake(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the kernel has no Landlock, nothing is denied and the log says so."""
    hardening._warn_unrestricted.cache_clear()
    lake, spill = tmp_path / "lake", tmp_path / "spill"
    lake.mkdir()
    spill.mkdir()
    duckdb.execute(f"COPY (SELECT 7 AS n) TO '{lake}/kept.parquet'")
    stored = (lake / "kept.parquet").read_bytes()
    succeeded: list[str] = []

    with ThreadPoolExecutor(1, initializer=restrict_thread, initargs=(0, spill)) as threads:
        connection = threads.submit(connect_hardened, str(lake), spill, LIMITS).result()
        for text in WRITES:
            try:
                threads.submit(connection.execute, text.format(lake=lake)).result()
                succeeded.append(text)
            except duckdb.Error:
                pass
        spilled = "SELECT COUNT(*) FROM (SELECT DISTINCT hash(range) FROM range(3_000_000))"
        assert threads.submit(lambda: connection.execute(spilled).fetchall()).result()

    restricted = hardening.landlock_version() > 0
    assert (succeeded == []) == restricted
    assert (warnings(caplog) == []) == restricted
    assert ([path.name for path in lake.iterdir()] == ["kept.parquet"]) == restricted
    assert ((lake / "kept.parquet").read_bytes() == stored) == restricted
    (lake / "others.txt").write_text("threads of another kind write as before")


def test_a_system_without_landlock_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hardening._warn_unrestricted.cache_clear()
    monkeypatch.setattr(platform, "system", lambda: "Darwin")

    assert not hardening.restrict_writes_to(tmp_path)
    restrict_thread(0, tmp_path)
    restrict_thread(0, tmp_path)

    assert [message.partition(":")[0] for message in warnings(caplog)] == ["no Landlock"]
    (tmp_path / "written.txt").write_text("this thread is not restricted")
