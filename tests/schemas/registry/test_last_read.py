"""How old a backup counts: by the last read of the registry, never younger than that."""

from pathlib import Path

import pytest

from schemas.registry import Backups, Organization, RegistryStore, validation
from schemas.registry.backups import LAST_READ_FILE, Backup, write_backup
from tests.schemas.registry.filled_registry import NOW

HOUR = 3_600_000


@pytest.fixture
def owner(store: RegistryStore, backups: Backups) -> Organization:
    owner = store.create(validation.new_organization("Acme", "pro", NOW))
    write_backup(store, backups, NOW)
    return owner


def newest(backups: Backups) -> Backup:
    found = backups.newest()
    assert found is not None
    return found


@pytest.mark.usefixtures("owner")
def test_a_backup_is_as_old_as_the_last_read_of_its_version(
    store: RegistryStore, backups: Backups
) -> None:
    assert backups.read_ms(newest(backups)) == NOW

    backups.write_last_read(store.read_version(), NOW + HOUR)

    assert backups.read_ms(newest(backups)) == NOW + HOUR
    assert len(backups.paths()) == 1  # the file is no backup
    backups.write_last_read(store.read_version(), NOW - HOUR)
    assert backups.read_ms(newest(backups)) == NOW


def test_a_read_of_a_later_version_does_not_make_the_backup_younger(
    store: RegistryStore, backups: Backups, owner: Organization
) -> None:
    store.update(Organization, owner.id, NOW + 1, name="Renamed")

    backups.write_last_read(store.read_version(), NOW + HOUR)

    assert backups.read_ms(newest(backups)) == NOW


@pytest.mark.usefixtures("owner")
def test_a_damaged_file_counts_as_none(backups: Backups) -> None:
    assert isinstance(backups.folder, Path)
    (backups.folder / LAST_READ_FILE).write_text('{"stamp": ')

    assert backups.read_ms(newest(backups)) == NOW


def test_without_a_local_backup_nothing_is_written(
    store: RegistryStore, backups: Backups, tmp_path: Path
) -> None:
    backups.write_last_read(store.read_version(), NOW)

    assert not (tmp_path / "lake").exists()
