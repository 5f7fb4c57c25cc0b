"""Restores: the tables of the backup, from which workers read on, and what is refused."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from deploy.local.preflight import CannotStart, check_restore
from deploy.local.registry_startup import prepare_registry
from schemas.kinds import CUSTOM_EVENT
from schemas.lake.committed_offsets import app_id
from schemas.registry import (
    Erasure,
    ErasureState,
    Organization,
    RegistryStore,
    Selector,
    Website,
)
from schemas.registry.validation import new_erasure, new_organization, new_website
from schemas.runtime.restore_state import read_restore_state
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE, Table
from stream.backup import pinned_tables
from stream.backup import restore as restore_module
from stream.backup.file_store import FileStore, LocalFiles, file_store
from stream.backup.kept_backups import BackupProblem, verify_backups
from stream.backup.lake_backup import take_backup
from stream.backup.manifest import Manifest, select_backup
from stream.backup.pinned_tables import PinnedTable
from stream.backup.restore import (
    RestoreFailed,
    RestoreRefused,
    RestoreResult,
    check_destination,
    restore,
)
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.compaction import compact
from stream.maintenance.erasure import carry_out
from stream.maintenance.erasure_copies import run_erasure_copies
from stream.maintenance.vacuum import VacuumTask, checkpoint
from stream.recovery.file_check import check_data_files
from stream.recovery.hourly_balance import count_items
from stream.recovery.ledger_balance import check_balance
from stream.recovery.offset_check import missing_offsets
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.postgresql import MIGRATED, PostgreSQL
from tests.s3.server import S3Server
from tests.stream.builders import a_message, an_envelope, named, rows, settings
from tests.stream.imported_totals import store as store_totals
from tests.stream.imported_totals import stored as stored_totals

ENDED = threading.Event()
ENDED.set()
STORED = 4
"""Messages that were stored before the backup."""


@pytest.fixture
def source(tmp_path: Path) -> Settings:
    """An installation with an organization and STORED events, in as many data files."""
    source = settings(tmp_path / "source", small_parts=2)
    source.data.mkdir()
    prepare_registry(source, create_new=True)
    store = RegistryStore(source.registry_url)
    store.create(new_organization("Acme", "pro", 0))
    store.close()
    write(source, range(STORED))
    return source


@pytest.fixture
def restored(tmp_path: Path) -> Settings:
    return settings(tmp_path / "restored")


@pytest.fixture
def target(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "target")


def write(config: Settings, offsets: range) -> None:
    """Store messages one by one; every third has an item that is quarantined."""
    writer = BatchWriter(config, CUSTOM_EVENT, Lookups())
    for offset in offsets:
        name: Any = f"n{offset}" if offset % 3 else ""
        writer.write([a_message(offset, named(f"e{offset}", name))])


def restore_newest(source: FileStore, manifest: Manifest, config: Settings) -> RestoreResult:
    check_destination(config, manifest)
    return restore(source, manifest, config, "cli:test", carry_out)


def names(config: Settings) -> list[str]:
    return [name for (name,) in rows(config, EVENTS, "name")]


def expected(count: int) -> list[str]:
    return sorted(
        name
        for offset in range(count)
        for name in (f"e{offset}", *((f"n{offset}",) if offset % 3 else ()))
    )


def test_a_restored_lake_has_the_rows_the_version_and_the_registry(
    source: Settings, restored: Settings, target: LocalFiles
) -> None:
    checkpoint(LakeTable(source, EVENTS))
    write(source, range(STORED, STORED + 1))
    manifest = take_backup(source, target).manifest
    write(source, range(STORED + 1, STORED + 3))

    result = restore_newest(target, manifest, restored)

    assert (result.problems, result.next_epoch) == ([], 2)
    assert names(restored) == expected(STORED + 1)
    assert rows(restored, LEDGER, "received", "stored", "quarantined") == [
        (2, 1, 1), (2, 1, 1), (2, 2, 0), (2, 2, 0), (2, 2, 0),
    ]  # fmt: skip
    assert LakeTable(restored, EVENTS).handle.version() == manifest.tables[0].version
    log = Path(restored.lake_url) / "events" / "_delta_log"
    version = f"{manifest.tables[0].version:020}"
    assert sorted(path.name for path in log.iterdir()) == [
        f"{version}.checkpoint.parquet", f"{version}.json", "_last_checkpoint",
    ]  # fmt: skip
    store = RegistryStore(restored.registry_url)
    assert [organization.name for organization in store.list(Organization)] == ["Acme"]
    store.close()


def test_imported_totals_are_restored_and_stay_stored_once(
    source: Settings, restored: Settings, target: LocalFiles
) -> None:
    store_totals(source, "i1", [-2, -1])

    restore_newest(target, take_backup(source, target).manifest, restored)
    store_totals(restored, "i1", [-2, -1])

    assert stored_totals(restored) == [("i1", -2), ("i1", -1)]


def test_a_worker_reads_on_where_the_backup_ended(
    source: Settings, restored: Settings, target: LocalFiles
) -> None:
    manifest = take_backup(source, target).manifest
    restore_newest(target, manifest, restored)

    write(restored, range(STORED + 3))  # as Kafka would give them, from the first message on

    assert names(restored) == expected(STORED + 3)
    assert list(check_balance(restored)) == []
    table = LakeTable(restored, EVENTS)
    assert table.next_offset(app_id(1, "events", 0)) == STORED + 3


def test_side_tables_that_are_ahead_of_the_main_table_are_not_counted_twice(
    source: Settings, restored: Settings, target: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = pinned_tables._pin

    def pin_and_write(lake: str, table: Table) -> PinnedTable | None:
        pinned = pin(lake, table)
        if table is EVENTS:
            write(source, range(STORED, STORED + 3))
        if table is LEDGER:
            write(source, range(STORED + 3, STORED + 4))
        return pinned

    with monkeypatch.context() as patched:
        patched.setattr(pinned_tables, "_pin", pin_and_write)
        manifest = take_backup(source, target).manifest
    restore_newest(target, manifest, restored)

    assert names(restored) == expected(STORED)
    assert list(check_balance(restored)) == []
    write(restored, range(STORED + 5))
    assert names(restored) == expected(STORED + 5)
    assert len(rows(restored, QUARANTINE, "reason")) == 3  # offsets 0, 3 and 6
    assert list(check_balance(restored)) == []


def test_files_that_were_replaced_before_the_backup_are_vacuumed_in_peace(
    source: Settings, restored: Settings, target: LocalFiles
) -> None:
    compact(LakeTable(source, EVENTS), source)
    manifest = take_backup(source, target).manifest
    assert len(manifest.tables[0].data_files) == 1
    restore_newest(target, manifest, restored)
    table, task = LakeTable(restored, EVENTS), VacuumTask()

    task(table, restored)
    task._vacuums[EVENTS.name] = task._full_vacuums[EVENTS.name] = -1e9
    task(table, restored)

    assert names(restored) == expected(STORED)
    assert len(table.handle.file_uris()) == 1


def test_a_folder_with_tables_or_a_registry_is_refused(
    source: Settings, restored: Settings, target: LocalFiles
) -> None:
    manifest = take_backup(source, target).manifest

    with pytest.raises(RestoreRefused, match=r"lake is not empty \(it has .*another folder"):
        check_destination(source, manifest)
    restored.data.mkdir()
    prepare_registry(restored, create_new=True)
    with pytest.raises(RestoreRefused, match="there is a registry already"):
        check_destination(restored, manifest)


def erase(store: RegistryStore, website: Website, visitor: str) -> Erasure:
    """An erasure that is done."""
    key, owner = store.tombstone_key(), website.organization_id
    made = new_erasure(owner, Selector.VISITOR, [visitor], 0, key, website_id=website.id)
    store.create(structs.replace(made, state=ErasureState.DONE, erased_values=()))
    return made


def test_a_restored_backup_has_no_row_that_was_erased_after_it(
    source: Settings, restored: Settings, target: LocalFiles, tmp_path: Path
) -> None:
    store = RegistryStore(source.registry_url)
    [acme] = store.list(Organization)
    shop = structs.replace(new_website(acme.id, "shop.example", 0), id="w1")
    store.create(shop)
    items = [{"name": name, "anonymousId": name} for name in ("anna", "ben", "carl")]
    BatchWriter(source, CUSTOM_EVENT, Lookups()).write(
        [a_message(STORED, an_envelope(items, subject_id="w1"))]
    )
    before = take_backup(source, target).manifest
    blog = new_website(acme.id, "blog.example", 0)
    store.create(blog)
    erase(store, blog, "anna")  # of a website that the backup does not have
    anna = erase(store, shop, "anna")
    damaged = take_backup(source, target).manifest.registry
    ben = erase(store, shop, "ben")
    store.close()
    assert damaged
    (tmp_path / "target" / damaged.stored_path).write_bytes(b"")  # its erasures are copied apart
    run_erasure_copies(structs.replace(source, backup_target=str(tmp_path / "target")), ENDED)
    assert {"anna", "ben"} <= set(names(source))

    torn = tmp_path / "target" / "erasures" / f"{ben.id}.json"
    content = torn.read_bytes()
    torn.write_bytes(content[:-1])
    problem = BackupProblem(before.id, f"erasures/{ben.id}.json", "is no readable erasure")
    assert list(verify_backups(target, [before.id])) == [problem]
    with pytest.raises(RestoreFailed, match=f"erasures/{ben.id}.json is damaged"):
        restore_newest(target, before, restored)
    torn.write_bytes(content)

    result = restore_newest(target, before, restored)

    assert (result.erasures, result.unfinished) == (2, [])
    assert names(restored) == sorted(["carl", *expected(STORED)])
    registry = RegistryStore(restored.registry_url)
    states = {erasure.id: erasure.state for erasure in registry.list(Erasure)}
    registry.close()
    assert states == {anna.id: ErasureState.REWRITTEN, ben.id: ErasureState.REWRITTEN}
    assert list(check_balance(restored)) == []
    versions = (Path(restored.lake_url) / "events" / "_delta_log").glob("*.json")
    assert len(list(versions)) == 1  # no query of an older version finds them either
    assert len(LakeTable(restored, EVENTS).handle.file_uris()) == len(
        list((Path(restored.lake_url) / "events").rglob("day=*/*.parquet"))
    )


def test_an_interrupted_restore_is_continued_and_nothing_starts_before(
    source: Settings, restored: Settings, target: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = take_backup(source, target).manifest

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restore_module, "_restore_registry", killed)
        with pytest.raises(KeyboardInterrupt):
            restore_newest(target, manifest, restored)

    with pytest.raises(CannotStart, match=f"restore of backup {manifest.id} .* has not ended"):
        check_restore(restored)
    assert not Path(restored.registry_url.removeprefix("sqlite:///")).exists()
    unfinished = Path(restored.lake_url) / "events" / ".a.parquet.4711"
    unfinished.touch()

    restore_newest(target, manifest, restored)

    check_restore(restored)
    state = read_restore_state(restored.data)
    assert state is not None
    assert (state.backup, state.state) == (manifest.id, "done")
    assert not unfinished.exists()
    assert names(restored) == expected(STORED)


def test_a_damaged_data_file_is_left_out_and_named(
    source: Settings, restored: Settings, target: LocalFiles, tmp_path: Path
) -> None:
    store = RegistryStore(source.registry_url)
    shop = structs.replace(new_website(store.list(Organization)[0].id, "a.example", 0), id="w1")
    store.create(shop)
    erasure = erase(store, shop, "anna")
    store.close()
    manifest = take_backup(source, target).manifest
    file = manifest.tables[0].data_files[0]
    (tmp_path / "target" / file.stored_path).write_bytes(bytes(file.size))

    result = restore_newest(target, manifest, restored)

    assert [(problem.path, problem.problem) for problem in result.problems] == [
        (file.path, "is damaged in the backup")
    ]
    assert result.unfinished == [erasure.id]  # nobody can say whether the file has its rows
    assert not (Path(restored.lake_url) / file.path).exists()
    assert len(list(verify_backups(target, [manifest.id]))) == 1


def test_a_damaged_log_ends_the_restore(
    source: Settings, restored: Settings, target: LocalFiles, tmp_path: Path
) -> None:
    manifest = take_backup(source, target).manifest
    entry = manifest.tables[0].log[0]
    (tmp_path / "target" / entry.stored_path).unlink()

    with pytest.raises(RestoreFailed, match="is missing in the backup, and table events needs it"):
        restore_newest(target, manifest, restored)


def test_a_backup_is_chosen_by_its_id_or_by_a_time(
    source: Settings, target: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at_ms in (1_795_262_400_000, 1_795_266_000_000):  # 12:00 and 13:00 of 2026-11-21
        monkeypatch.setattr("stream.backup.lake_backup.now_ms", lambda at=at_ms: at)
        take_backup(source, target)

    assert select_backup(target, None) == "20261121T130000Z"
    assert select_backup(target, "20261121T120000Z") == "20261121T120000Z"
    assert select_backup(target, "2026-11-21T12:59:59Z") == "20261121T120000Z"
    assert select_backup(target, "2026-11-21T14:00:00+01:00") == "20261121T130000Z"
    assert select_backup(target, "2026-11-20") is None
    with pytest.raises(ValueError, match="yesterday"):
        select_backup(target, "yesterday")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


def test_a_lake_in_an_object_store_is_backed_up_there_and_restored_there(
    tmp_path: Path, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    source = settings(tmp_path / "source", lake=server.url)
    source.data.mkdir()
    prepare_registry(source, create_new=True)
    write(source, range(2))
    target = file_store(server.url.replace("tables", "backups"))
    restored = structs.replace(
        source, data_dir=str(tmp_path / "restored"), lake=server.url.replace("tables", "again")
    )

    manifest = take_backup(source, target).manifest
    restore_newest(target, manifest, restored)

    write(restored, range(3))
    assert len(LakeTable(restored, EVENTS).handle.file_uris()) == 3
    assert list(check_data_files(restored)) == []
    counts = count_items(restored)
    assert [problem for entry in counts.by_hour.values() for problem in entry.problems()] == []
    assert list(missing_offsets("events", counts.mains["events"], counts.quarantine)) == []
    assert list(check_balance(restored)) == []
    with pytest.raises(RestoreRefused, match="is not empty"):
        check_destination(source, manifest)


def test_a_registry_on_a_server_is_restored_into_an_empty_database(
    source: Settings, restored: Settings, target: LocalFiles
) -> None:
    with PostgreSQL() as server:
        on_server = structs.replace(source, registry=server.new_database(MIGRATED))
        store = RegistryStore(on_server.registry_url)
        owner = store.create(new_organization("On a server", "pro", 0))
        store.close()
        manifest = take_backup(on_server, target).manifest
        empty = structs.replace(restored, registry=server.new_database())

        with pytest.raises(RestoreRefused, match="set TIDEMARK_REGISTRY to an empty database"):
            check_destination(structs.replace(restored, registry=on_server.registry), manifest)
        restore_newest(target, manifest, empty)

        store = RegistryStore(empty.registry_url)
        assert [record.id for record in store.list(Organization)] == [owner.id]
        store.close()
