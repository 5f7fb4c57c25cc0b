"""Daily salts: one for all collectors of a folder, deleted with the day."""

import asyncio
import stat
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ingest.publishing import anonymous_id
from ingest.publishing.anonymous_id import DailySalts, delete_salts_before, read_salt
from schemas.registry import RegistrySalts
from tests.ingest.in_memory_collector import NOW
from tests.postgresql import MIGRATED, PostgreSQL

DAY_MS = 86_400_000
MIDNIGHT = NOW // DAY_MS * DAY_MS
"""2026-11-18T00:00:00Z"""


def names(folder: Path) -> Sequence[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_day_has_one_salt_readable_by_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "visitors"
    first, other = DailySalts(folder), DailySalts(folder)

    today = first.get(MIDNIGHT)

    assert [len(today), today] == [32, other.get(MIDNIGHT + DAY_MS - 1)]
    assert today != first.get(MIDNIGHT + DAY_MS)
    assert names(folder) == ["2026-11-18", "2026-11-19"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_collectors_that_start_a_day_at_once_share_a_salt(tmp_path: Path) -> None:
    barrier, salts = threading.Barrier(8), []

    def begin() -> None:
        barrier.wait()
        salts.append(read_salt(tmp_path / "2026-11-18"))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(salts), len(set(salts)), names(tmp_path)) == (8, 1, ["2026-11-18"])


def test_the_salt_of_a_past_day_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymous_id, "CLEANUP_INTERVAL_SECONDS", 0)
    secrets = DailySalts(tmp_path)
    before, today = secrets.get(MIDNIGHT - 1), secrets.get(MIDNIGHT)
    (tmp_path / "2026-11-17.of-a-killed-collector").touch()

    async def kept_at(now_ms: int) -> Sequence[str]:
        looks, again = [now_ms], asyncio.Event()

        def clock() -> int:
            if not looks:
                again.set()
            looks.clear()
            return now_ms

        ending = asyncio.create_task(secrets.run(clock))
        await again.wait()  # so the first look is over
        ending.cancel()
        with suppress(asyncio.CancelledError):
            await ending
        return names(tmp_path)

    assert "2026-11-17" in asyncio.run(kept_at(MIDNIGHT + 59_999))
    assert secrets.get(MIDNIGHT - 1) == before  # came before midnight
    assert asyncio.run(kept_at(MIDNIGHT + 60_000)) == ["2026-11-18"]
    assert secrets.get(MIDNIGHT) == today
    assert secrets.get(MIDNIGHT - 1) != before


def test_only_the_first_request_of_a_day_reads_the_disk(tmp_path: Path) -> None:
    secrets = DailySalts(tmp_path)
    today = secrets.get(MIDNIGHT)
    delete_salts_before(tmp_path, "2026-11-19")

    assert (names(tmp_path), secrets.get(MIDNIGHT + 1)) == ([], today)


@pytest.mark.parametrize("broken", ["no folder", "cut short"])
def test_without_its_disk_a_collector_uses_a_salt_of_its_own(
    tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "visitors"
    if broken == "no folder":
        folder.write_bytes(b"a file")
    else:
        folder.mkdir()
        (folder / "2026-11-18").touch()
    secrets = DailySalts(folder)

    today = secrets.get(MIDNIGHT)

    assert (len(today), secrets.get(MIDNIGHT)) == (32, today)
    assert DailySalts(folder).get(MIDNIGHT) != today
    assert [record.message for record in caplog.records] == [
        "daily salt not shared; using a salt of this process"
    ] * 2


def test_collectors_of_two_machines_share_the_salts_of_a_server(tmp_path: Path) -> None:
    with PostgreSQL() as server, closing(RegistrySalts(server.new_database(MIGRATED))) as salts:
        one, other = DailySalts(tmp_path / "one", salts), DailySalts(tmp_path / "other", salts)
        before = other.get(MIDNIGHT)  # the server was away, and it made its own
        assert one.fetch(MIDNIGHT)
        assert other.fetch(MIDNIGHT)
        shared = one.get(MIDNIGHT), one.get(MIDNIGHT + DAY_MS)
        assert (other.get(MIDNIGHT), other.get(MIDNIGHT + DAY_MS)) == shared
        assert before != other.get(MIDNIGHT)

        server.stop()
        again = DailySalts(tmp_path / "other", salts)
        assert not again.fetch(MIDNIGHT)
        assert (again.get(MIDNIGHT), again.get(MIDNIGHT + DAY_MS)) == shared
        server.start()

        tomorrow = MIDNIGHT + DAY_MS + 120_000
        assert one.fetch(tomorrow, one.expire(tomorrow))
        days = server.execute("SELECT day FROM daily_salts ORDER BY day", "db1")
        assert days == [("2026-11-19",), ("2026-11-20",)]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "other").iterdir()} == {0o600}
