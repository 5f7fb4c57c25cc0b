"""Damaged registries are found, moved aside and restored."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from schemas.registry import (
    Backups,
    Organization,
    RegistryStore,
)
from schemas.registry.backups import read_backup, write_backup
from schemas.registry.restore import move_aside, registry_fault, restore
from tests.schemas.registry.filled_registry import LOSSES, NOW, furnished


@pytest.mark.parametrize("lose", LOSSES)
def test_a_restored_registry_equals_the_lost_one(
    lose: Callable[[Path], None], url: str, path: Path, store: RegistryStore, backups: Backups
) -> None:
    furnished(store)
    write_backup(store, backups, NOW)
    whole = store.read_contents()
    store.close()
    lose(path)
    lost = path.read_bytes() if path.exists() else None
    assert registry_fault(url) is not None
    newest = backups.newest()
    assert newest is not None

    moved_to = restore(url, newest.contents, backups.last_revision() + 1, NOW)

    again = RegistryStore(url)
    restored = again.read_contents()
    again.close()
    assert list(restored.by_kind()) == list(whole.by_kind())
    assert restored.receipt_secret == whole.receipt_secret
    assert restored.stamp.revision == whole.stamp.revision + 1
    assert restored.stamp.incarnation != whole.stamp.incarnation
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (moved_to.read_bytes() if moved_to and moved_to.exists() else None) == lost
    assert registry_fault(url) is None


def test_a_damaged_page_is_found(url: str, path: Path, store: RegistryStore) -> None:
    furnished(store)
    store.close()
    assert registry_fault(url) is None
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))

    assert "is damaged" in str(registry_fault(url))


def test_a_registry_is_moved_aside_with_its_write_ahead_log(
    url: str, path: Path, store: RegistryStore
) -> None:
    owner, *_ = furnished(store)  # still open, so its newest pages lie in the file beside
    assert path.with_name("registry.db-wal").stat().st_size > 0

    moved_to = move_aside(path, NOW)

    assert moved_to is not None
    assert not list(path.parent.glob("registry.db-*"))
    moved = RegistryStore(f"sqlite:///{moved_to}")
    assert moved.list(Organization) == [owner]
    moved.close()


def test_restoring_a_backup_without_receipt_secret_keeps_the_new_secret(
    url: str, store: RegistryStore, backups: Backups
) -> None:
    furnished(store)
    contents = structs.replace(store.read_contents(), receipt_secret="")
    path = backups.write(contents, NOW)
    store.close()

    restore(url, read_backup(path).contents, 99, NOW)

    again = RegistryStore(url)
    drawn = again.read_contents().receipt_secret
    again.close()
    assert len(bytes.fromhex(drawn)) == 32
