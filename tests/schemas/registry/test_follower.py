"""Followers of a registry that is lost, restored or holds an invalid row."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from schemas.receipts import RECEIPT_FORMAT, Receipt
from schemas.registry import (
    Backups,
    Organization,
    RegistryFollower,
    RegistryLost,
    RegistryStore,
    Website,
    validation,
)
from schemas.registry import follower as follower_module
from schemas.registry.backups import COPY_FOLDER, write_backup
from schemas.registry.database import create_engine
from schemas.registry.restore import restore
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings
from tests.postgresql import MIGRATED, PostgreSQL
from tests.schemas.registry.filled_registry import LOSSES, NOW, furnished, removed

RECEIPT = Receipt(RECEIPT_FORMAT, "events", 1, 3, 17, 0, 2, NOW, "shop")


@pytest.mark.parametrize("lose", LOSSES)
def test_a_registry_lost_while_open_is_served_from_memory_until_it_is_restored(
    lose: Callable[[Path], None],
    url: str,
    path: Path,
    store: RegistryStore,
    backups: Backups,
    caplog: pytest.LogCaptureFixture,
) -> None:
    owner, website, key, text = furnished(store)
    write_backup(store, backups, NOW)
    other = RegistryStore(url)
    follower, waiting = RegistryFollower(other, backups, 0.005), asyncio.Event()

    async def watched() -> None:
        following = asyncio.create_task(follower.run())
        lose(path)
        await until(lambda: (follower.error or "").startswith("lost since 20"))
        await asyncio.sleep(0.05)
        assert follower.snapshot.find_key(text, NOW) == key
        with pytest.raises(RegistryLost):
            other.create(validation.new_organization("Nowhere", "free", NOW))
        newest = backups.newest()
        assert newest is not None
        restore(url, newest.contents, backups.last_revision() + 1, NOW)
        await until(lambda: follower.error is None)
        other.update(Website, website.id, NOW + 1, name="Written again")
        await until(lambda: follower.snapshot.websites[website.id].name == "Written again")
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
        waiting.set()

    asyncio.run(watched())
    other.close()

    assert waiting.is_set()
    assert store.list(Organization) == [owner]
    messages = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert messages == ["registry unavailable", "registry available again"]


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not check():  # noqa: ASYNC110 - what is waited for is no task of ours
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("lose", LOSSES)
def test_a_process_that_starts_without_the_registry_uses_the_backup(
    lose: Callable[[Path], None], url: str, path: Path, store: RegistryStore, backups: Backups
) -> None:
    _, _, key, text = furnished(store)
    write_backup(store, backups, NOW)
    store.close()
    lose(path)
    before = path.stat().st_size if path.exists() else None

    follower = RegistryFollower(RegistryStore(url), backups)

    assert follower.snapshot.find_key(text, NOW) == key
    assert follower.error == f"lost since {format_instant(NOW)}"
    assert follower.stale_seconds == pytest.approx((now_ms() - NOW) / 1000, abs=5)
    assert (path.stat().st_size if path.exists() else None) == before
    with pytest.raises(RegistryLost):
        RegistryFollower(RegistryStore(url), Backups(path.parent / "none"))


def test_a_process_keeps_a_copy_for_its_next_start_without_the_database(
    url: str, path: Path, store: RegistryStore, tmp_path: Path
) -> None:
    _, _, key, text = furnished(store)
    backups = Backups(tmp_path / "elsewhere", copy_folder=tmp_path / "copy")
    assert backups.copy
    RegistryFollower(RegistryStore(url), backups).poll()
    store.close()
    path.unlink()

    follower = RegistryFollower(RegistryStore(url), backups)

    [copy] = backups.copy.paths()
    assert isinstance(copy, Path)
    assert follower.snapshot.find_key(text, NOW) == key
    assert copy.stat().st_mode & 0o777 == 0o600
    assert text.encode() not in copy.read_bytes()  # keys are hashes


def test_a_restart_goes_on_counting_from_the_last_read_and_logs_the_age_of_the_backup(
    url: str,
    path: Path,
    store: RegistryStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    furnished(store)
    backups = Backups(tmp_path / "elsewhere", copy_folder=tmp_path / "copy")
    assert backups.copy
    write_backup(store, backups.copy, NOW)
    read_ms = now_ms() - 3_600_000  # long after the only backup
    with monkeypatch.context() as hour_ago:
        hour_ago.setattr(follower_module, "now_ms", lambda: read_ms)
        RegistryFollower(RegistryStore(url), backups).poll()
    store.close()
    path.unlink()

    async def started(follower: RegistryFollower) -> None:
        following = asyncio.create_task(follower.run())
        await until(lambda: "registry unavailable" in caplog.messages)
        await asyncio.sleep(0.05)  # some polls
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    for _ in range(2):
        caplog.clear()
        follower = RegistryFollower(RegistryStore(url), backups, 0.005)
        asyncio.run(started(follower))

        assert follower.stale_seconds == pytest.approx(3600, abs=20)
        assert follower.error == f"lost since {format_instant(read_ms)}"
        [logged] = [r for r in caplog.records if r.getMessage() == "registry unavailable"]
        [copy] = backups.copy.paths()
        assert logged.__dict__["served"] == f"backup {copy.name}"
        assert logged.__dict__["last_read"] == format_instant(read_ms)
        assert float(logged.__dict__["age_seconds"]) == pytest.approx(3600, abs=20)


def test_a_restart_without_the_database_server_says_when_it_was_read_last(tmp_path: Path) -> None:
    with PostgreSQL() as server:
        settings = Settings(data_dir=str(tmp_path), registry=server.new_database(MIGRATED))
        backups = Backups.for_settings(settings)
        store = RegistryStore(settings.registry_url)
        _, _, key, text = furnished(store)
        RegistryFollower(store, backups).poll()
        read_before_ms = now_ms()
        store.close()

    follower = RegistryFollower(RegistryStore(settings.registry_url), backups)

    assert follower.snapshot.find_key(text, NOW) == key
    since = str(follower.error).removeprefix("not read since ")
    assert since <= str(format_instant(read_before_ms))
    assert follower.stale_seconds > (now_ms() - read_before_ms) / 1000 - 0.01


def test_a_registry_on_a_database_server_is_copied_by_each_machine(tmp_path: Path) -> None:
    server = Settings(data_dir=str(tmp_path), registry="postgresql://db/tidemark")
    copy = Backups.for_settings(server).copy

    assert copy is not None
    assert copy.folder == tmp_path / COPY_FOLDER
    assert Backups.for_settings(Settings(data_dir=str(tmp_path))).copy is None


def test_receipts_are_read_by_every_process_and_after_the_registry_was_lost(
    url: str, path: Path, store: RegistryStore, backups: Backups
) -> None:
    furnished(store)
    write_backup(store, backups, NOW)
    other = RegistryStore(url)
    collector, query = RegistryFollower(store), RegistryFollower(other)
    text = collector.snapshot.receipt_key.sign(RECEIPT)
    assert query.snapshot.receipt_key.verify(text) == RECEIPT

    removed(path)
    newest = backups.newest()
    assert newest is not None
    assert RegistryFollower(store, backups).snapshot.receipt_key.verify(text) == RECEIPT
    restore(url, newest.contents, backups.last_revision() + 1, NOW)
    other.create(validation.new_organization("Later", "free", NOW))
    assert query.refresh().receipt_key.verify(text) == RECEIPT
    other.close()


def test_an_invalid_row_does_not_stop_the_follower(
    url: str, store: RegistryStore, caplog: pytest.LogCaptureFixture
) -> None:
    owner, *_ = furnished(store)
    follower, engine = RegistryFollower(store, seconds=0.005), create_engine(url)

    def put(limits: str) -> None:
        with engine.begin() as connection:
            connection.execute(sa.text("UPDATE organizations SET limits = :it"), {"it": limits})
            connection.execute(sa.text("UPDATE revision SET number = number + 1"))

    async def watched() -> None:
        following = asyncio.create_task(follower.run())
        put("no JSON")
        await until(lambda: follower.error is not None)
        assert follower.stale_seconds > 0
        put('{"query": 7}')
        await until(lambda: follower.snapshot.organizations[owner.id].limits == {"query": 7})
        await until(lambda: follower.stale_seconds == 0)
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    asyncio.run(watched())
    engine.dispose()
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        "registry unavailable",
        "registry available again",
    ]


def test_a_database_that_does_not_answer_is_reported_while_it_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(follower_module, "ANSWER_SECONDS", 0.5)
    with PostgreSQL() as server:
        url = server.new_database(MIGRATED)
        store, engine = RegistryStore(url), create_engine(url)
        follower = RegistryFollower(store, seconds=0.005)

        async def watched() -> None:
            following = asyncio.create_task(follower.run())
            with engine.begin() as connection:
                connection.execute(sa.text("LOCK TABLE revision IN ACCESS EXCLUSIVE MODE"))
                await until(lambda: follower.error is not None)
                assert follower.stale_seconds > 0
            await until(lambda: follower.error is None)
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

        asyncio.run(watched())
        engine.dispose()
        store.close()

    [problem] = [r for r in caplog.records if r.getMessage() == "registry unavailable"]
    assert "no answer within 0.5 s" in problem.__dict__["reason"]
