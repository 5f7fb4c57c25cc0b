"""It is told when a key was last used, at the cost of one small write an hour."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from schemas.registry import Follower, Key, Store, validation
from schemas.registry.last_use import COARSE_MS
from schemas.registry.migrate import migrate

NOW = 1_795_248_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/registry.db"
    migrate(url)
    store = Store(url)
    yield store
    store.close()


def a_key(store: Store) -> tuple[Key, str]:
    owner = store.create(validation.new_organization("Acme", "free", NOW))
    key, text = validation.new_key(owner.id, ["admin"], NOW)
    return store.create(key), text


def looked(follower: Follower) -> None:
    """One look, a minute after the last."""
    follower._uses._looked = float("-inf")
    follower.look()


def last_used(store: Store, key: Key) -> int | None:
    return store.get(Key, key.id).last_used_at


def test_a_use_is_written_down_once_an_hour_and_no_follower_reads_anew(store: Store) -> None:
    key, text = a_key(store)
    follower, before = Follower(store), store.stamp()
    looked(follower)
    assert last_used(store, key) is None

    for at, written in (
        (NOW, NOW),
        (NOW + COARSE_MS - 1, NOW),
        (NOW + COARSE_MS, NOW + COARSE_MS),
    ):
        assert follower.snapshot.key(text, at) == key
        looked(follower)
        assert last_used(store, key) == written
    assert store.stamp() == before


def test_an_older_use_that_another_process_saw_changes_nothing(store: Store) -> None:
    key, text = a_key(store)
    first, second = Follower(store), Follower(store)
    first.snapshot.key(text, NOW + 5)
    second.snapshot.key(text, NOW)

    looked(first)
    looked(second)

    assert last_used(store, key) == NOW + 5


def test_uses_are_kept_when_the_snapshot_changes_and_a_wrong_secret_is_none(store: Store) -> None:
    key, text = a_key(store)
    other, _ = validation.new_key(key.organization_id, ["admin"], NOW)
    follower = Follower(store)
    follower.snapshot.key(text, NOW)
    follower.snapshot.key(f"tm_{key.id}_wrong", NOW + 2 * COARSE_MS)
    store.create(other)

    looked(follower)

    assert (last_used(store, key), last_used(store, other)) == (NOW, None)


def test_a_registry_that_is_lost_meanwhile_gets_the_use_later(store: Store, tmp_path: Path) -> None:
    key, text = a_key(store)
    follower = Follower(store, seconds=0.005)
    follower.snapshot.key(text, NOW)
    path = tmp_path / "registry.db"
    shutil.move(path, tmp_path / "away.db")

    async def watched() -> None:
        following = asyncio.create_task(follower.run())
        await asyncio.sleep(0.05)
        shutil.move(tmp_path / "away.db", path)
        async with asyncio.timeout(10):
            while last_used(store, key) is None:  # noqa: ASYNC110 - no task of ours
                await asyncio.sleep(0.01)
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

    asyncio.run(watched())

    assert last_used(store, key) == NOW
