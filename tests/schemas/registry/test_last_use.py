"""The last use of a key costs one small write an hour."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from schemas.registry import Key, RegistryFollower, RegistryStore, validation
from schemas.registry.last_use import RESOLUTION_MS
from tests.registries import make_registry

NOW = 1_795_248_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RegistryStore]:
    url = f"sqlite:///{tmp_path}/registry.db"
    make_registry(url)
    store = RegistryStore(url)
    yield store
    store.close()


def a_key(store: RegistryStore) -> tuple[Key, str]:
    owner = store.create(validation.new_organization("Acme", "free", NOW))
    key, text = validation.new_key(owner.id, ["admin"], NOW)
    return store.create(key), text


def looked(follower: RegistryFollower) -> None:
    """One look, a minute after the last."""
    follower._key_uses._checked_at = float("-inf")
    follower.poll()


def last_used(store: RegistryStore, key: Key) -> int | None:
    return store.get(Key, key.id).last_used_at


def test_a_key_use_is_written_once_an_hour_without_a_new_revision(
    store: RegistryStore,
) -> None:
    key, text = a_key(store)
    follower, before = RegistryFollower(store), store.read_version()
    looked(follower)
    assert last_used(store, key) is None

    for at, written in (
        (NOW, NOW),
        (NOW + RESOLUTION_MS - 1, NOW),
        (NOW + RESOLUTION_MS, NOW + RESOLUTION_MS),
    ):
        assert follower.snapshot.find_key(text, at) == key
        looked(follower)
        assert last_used(store, key) == written
    assert store.read_version() == before


def test_an_older_use_does_not_replace_a_later_one(store: RegistryStore) -> None:
    key, text = a_key(store)
    first, second = RegistryFollower(store), RegistryFollower(store)
    first.snapshot.find_key(text, NOW + 5)
    second.snapshot.find_key(text, NOW)

    looked(first)
    looked(second)

    assert last_used(store, key) == NOW + 5


def test_uses_survive_snapshot_changes_and_wrong_secrets_are_not_counted(
    store: RegistryStore,
) -> None:
    key, text = a_key(store)
    other, _ = validation.new_key(key.organization_id, ["admin"], NOW)
    follower = RegistryFollower(store)
    follower.snapshot.find_key(text, NOW)
    follower.snapshot.find_key(f"tm_{key.id}_wrong", NOW + 2 * RESOLUTION_MS)
    store.create(other)

    looked(follower)

    assert (last_used(store, key), last_used(store, other)) == (NOW, None)


def test_key_uses_are_written_later_while_the_registry_is_lost(
    store: RegistryStore, tmp_path: Path
) -> None:
    key, text = a_key(store)
    follower = RegistryFollower(store, seconds=0.005)
    follower.snapshot.find_key(text, NOW)
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
