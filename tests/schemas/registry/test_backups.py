"""Backups of the registry: written once, verified, pruned."""

import stat
from pathlib import Path

import pytest

from schemas.registry import (
    Backups,
    Organization,
    RegistryStore,
    validation,
)
from schemas.registry.backups import BackupDamaged, read_backup, write_backup
from schemas.registry.migrate import migrate
from schemas.registry.restore import move_aside
from tests.schemas.registry.filled_registry import NOW, furnished

DAY = 86_400_000


def test_a_torn_backup_is_skipped_for_an_older_one(store: RegistryStore, backups: Backups) -> None:
    owner, *_ = furnished(store)
    good = write_backup(store, backups, NOW)
    store.update(Organization, owner.id, NOW, name="Renamed")
    torn = write_backup(store, backups, NOW + 1000)
    assert good
    assert torn
    torn.write_bytes(torn.read_bytes()[:-40])

    newest = backups.newest()

    assert newest is not None
    assert (newest.path, newest.contents.organizations) == (good, [owner])
    with pytest.raises(BackupDamaged, match="wrong checksum"):
        read_backup(torn)


def test_a_flipped_bit_in_a_backup_is_noticed(store: RegistryStore, backups: Backups) -> None:
    furnished(store)
    path = write_backup(store, backups, NOW)
    assert path
    data = bytearray(path.read_bytes())
    data[data.index(b"shop.example")] ^= 1  # still JSON, but another website
    path.write_bytes(bytes(data))

    assert backups.newest() is None


def test_a_backup_is_for_the_owner_alone_and_holds_no_key(
    store: RegistryStore, backups: Backups
) -> None:
    *_, text = furnished(store)
    path = write_backup(store, backups, NOW)
    assert isinstance(path, Path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert text.rpartition("_")[2].encode() not in path.read_bytes()


def test_a_revision_is_backed_up_once_and_old_backups_are_pruned_by_day(
    store: RegistryStore, backups: Backups
) -> None:
    owner, *_ = furnished(store)
    assert write_backup(store, backups, NOW)
    assert write_backup(store, backups, NOW) is None
    for day in range(10):
        for hour in range(3):
            at = NOW + day * DAY + hour * 3_600_000
            store.update(Organization, owner.id, at, name=f"{day}/{hour}")
            write_backup(store, backups, at)

    names = [str(read_backup(p).contents.organizations[0].name) for p in reversed(backups.paths())]

    assert names == ["3/2", "4/2", "5/2", "6/2", "7/2", "8/1", "8/2", "9/0", "9/1", "9/2"]


def test_a_recreated_empty_registry_does_not_replace_backups(
    url: str, path: Path, store: RegistryStore, backups: Backups
) -> None:
    furnished(store)
    backup = write_backup(store, backups, NOW)
    move_aside(path, NOW)
    migrate(url)
    owner = store.create(validation.new_organization("Another", "free", NOW))
    store.delete(Organization, owner.id)

    assert write_backup(store, backups, NOW + 1) is None
    assert list(backups.folder.iterdir()) == [backup]
