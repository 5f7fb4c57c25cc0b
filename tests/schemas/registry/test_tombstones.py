"""Tombstones recognize erased values, and say them to nobody."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.registry import (
    Backups,
    Erasure,
    ErasureState,
    Organization,
    RegistryStore,
    Selector,
    Snapshot,
    Website,
    validation,
)
from schemas.registry.backups import read_backup, write_backup
from schemas.registry.tombstones import TombstoneKey
from tests.registries import make_registry

NOW = 1_795_262_400_000
STAMPS: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
VALUE = "visitor-to-forget"


@pytest.fixture
def store(tmp_path: Path) -> RegistryStore:
    url = f"sqlite:///{tmp_path}/registry.db"
    make_registry(url)
    store = RegistryStore(url, "cli:me")
    for organization, website in (("o1", "w1"), ("o1", "w2"), ("o2", "w3")):
        if website != "w2":
            store.create(Organization(id=organization, name="Acme", **STAMPS))
        domain = f"{website}.example"
        store.create(Website(id=website, organization_id=organization, domain=domain, **STAMPS))
    return store


def erase(store: RegistryStore, website_id: str | None = "w1", dry_run: bool = False) -> Erasure:
    key = store.tombstone_key()
    return store.create(
        validation.new_erasure(
            "o1", Selector.VISITOR, [VALUE], NOW, key, website_id=website_id, dry_run=dry_run
        )
    )


def test_a_tombstone_differs_by_key_selector_and_property() -> None:
    key = TombstoneKey("00" * 32)
    tombstones = {
        key.tombstone(Selector.VISITOR, VALUE),
        key.tombstone(Selector.SESSION, VALUE),
        key.tombstone(Selector.PROPERTY, VALUE, "email"),
        key.tombstone(Selector.PROPERTY, VALUE, "name"),
        TombstoneKey("01" * 32).tombstone(Selector.VISITOR, VALUE),
    }

    assert len(tombstones) == 5
    assert not any(VALUE in tombstone for tombstone in tombstones)
    assert key.tombstone(Selector.VISITOR, VALUE) in tombstones


@pytest.mark.parametrize(
    ("website_id", "subjects"), [("w1", ["w1"]), (None, ["w1", "w2"])], ids=["website", "all"]
)
def test_a_follower_has_tombstones_of_the_subjects_of_an_erasure(
    store: RegistryStore, website_id: str | None, subjects: list[str]
) -> None:
    before = Snapshot.read(store)
    record = erase(store, website_id)
    erase(store, "w2", dry_run=True)

    changes = store.read_changes_since(before.version)
    assert changes is not None
    for snapshot in (before.apply(changes), Snapshot.read(store)):
        assert snapshot is not None
        tombstones = snapshot.tombstones
        found = [name for name in ("w1", "w2", "w3") if tombstones.of_subject(name)]
        assert found == subjects
        of_subject = tombstones.of_subject("w1").erasure_ids
        assert of_subject == {record.value_hashes[0]: record.id}
    assert not before.tombstones


def test_neither_the_audit_trail_nor_a_backup_has_the_value(
    store: RegistryStore, tmp_path: Path
) -> None:
    record = erase(store)
    store.update(Erasure, record.id, NOW, erased_values=(f"visitor:{VALUE}", "visitor:more"))
    backup = write_backup(store, Backups(tmp_path / "backups"), NOW)

    trail = msgspec.json.encode(store.changes(10))

    assert backup is not None
    assert VALUE.encode() not in trail + backup.read_bytes()
    assert record.value_hashes[0].encode() not in trail
    [kept] = read_backup(backup).contents.erasures
    assert (kept.value_hashes, kept.erased_values) == (record.value_hashes, ())


def test_a_value_that_was_removed_is_in_no_file_of_the_registry(
    store: RegistryStore, tmp_path: Path
) -> None:
    record = erase(store)
    store.update(Erasure, record.id, NOW, state=ErasureState.DONE, erased_values=())
    store.truncate_log()

    assert not [path for path in tmp_path.rglob("*") if VALUE.encode() in path.read_bytes()]
