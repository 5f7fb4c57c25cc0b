"""Lost and damaged registries, backups and restores."""

import asyncio
import logging
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from msgspec import structs

from schemas.receipts import RECEIPT_FORMAT, Receipt
from schemas.registry import (
    Backups,
    Key,
    Organization,
    RegistryFollower,
    RegistryLost,
    RegistryStore,
    Website,
    validation,
)
from schemas.registry.backups import BackupDamaged, read_backup, write_backup
from schemas.registry.database import create_engine
from schemas.registry.migrate import MIGRATIONS, migrate
from schemas.registry.restore import move_aside, registry_fault, restore

NOW = 1_795_248_000_000
RECEIPT = Receipt(RECEIPT_FORMAT, "events", 1, 3, 17, 0, 2, NOW, "shop")
DAY = 86_400_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "registry.db"


@pytest.fixture
def url(new_registry: Path, path: Path) -> str:
    shutil.copy(new_registry, path)
    return f"sqlite:///{path}"


@pytest.fixture
def store(url: str) -> Iterator[RegistryStore]:
    store = RegistryStore(url)
    yield store
    store.close()


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path / "lake" / "_registry")


def furnished(store: RegistryStore) -> tuple[Organization, Website, Key, str]:
    owner = store.create(validation.new_organization("Acme", "pro", NOW, {"query": 500}))
    website = store.create(validation.new_website(owner.id, "shop.example", NOW, "Europe/Berlin"))
    key, text = validation.new_key(owner.id, ["admin"], NOW, website.id, "Server")
    store.create(key)
    store.create(validation.new_link(owner.id, "A", "https://a.example/", NOW, slug="spring"))
    store.create(validation.new_import(website, "old.csv", NOW))
    return owner, website, key, text


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def zeroed(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


def replaced_by_another_file(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"no database\n" * 400)
    other.replace(path)


LOSSES: tuple[Callable[[Path], None], ...] = (removed, emptied, zeroed, replaced_by_another_file)


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
    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert told == ["registry unavailable", "registry available again"]


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
    assert str(follower.error).startswith("lost since 20")
    assert (path.stat().st_size if path.exists() else None) == before
    with pytest.raises(RegistryLost):
        RegistryFollower(RegistryStore(url), Backups(path.parent / "none"))


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

    kept = restore(url, newest.contents, backups.last_revision() + 1, NOW)

    again = RegistryStore(url)
    restored = again.read_contents()
    again.close()
    assert list(restored.by_kind()) == list(whole.by_kind())
    assert restored.receipt_secret == whole.receipt_secret
    assert restored.stamp.revision == whole.stamp.revision + 1
    assert restored.stamp.incarnation != whole.stamp.incarnation
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (kept.read_bytes() if kept and kept.exists() else None) == lost
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

    kept = move_aside(path, NOW)

    assert kept is not None
    assert not list(path.parent.glob("registry.db-*"))
    moved = RegistryStore(f"sqlite:///{kept}")
    assert moved.list(Organization) == [owner]
    moved.close()


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
    assert path

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

    names = [
        str(read_backup(p).contents.organizations[0].name) for p in sorted(backups.folder.iterdir())
    ]

    assert names == ["3/2", "4/2", "5/2", "6/2", "7/2", "8/1", "8/2", "9/0", "9/1", "9/2"]


def test_a_recreated_empty_registry_does_not_replace_backups(
    url: str, path: Path, store: RegistryStore, backups: Backups
) -> None:
    furnished(store)
    kept = write_backup(store, backups, NOW)
    move_aside(path, NOW)
    migrate(url)
    owner = store.create(validation.new_organization("Another", "free", NOW))
    store.delete(Organization, owner.id)

    assert write_backup(store, backups, NOW + 1) is None
    assert list(backups.folder.iterdir()) == [kept]


def test_a_registry_of_the_first_schema_is_migrated(path: Path) -> None:
    url = f"sqlite:///{path}"
    engine = create_engine(url, create=True)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        for statement in OLD_ROWS:
            connection.execute(sa.text(statement))
    engine.dispose()

    migrate(url)

    store = RegistryStore(url)
    (website,) = store.list(Website)
    (key,) = store.list(Key)
    stamp = store.read_version()
    store.close()
    assert (website.id, website.domain, key.scopes) == ("w", "shop.example", ("read:data",))
    assert (stamp.revision, len(stamp.incarnation)) == (8, 16)


def test_receipts_are_read_by_every_process_and_after_the_registry_was_lost(
    url: str, path: Path, store: RegistryStore, backups: Backups
) -> None:
    furnished(store)
    write_backup(store, backups, NOW)
    other = RegistryStore(url)
    collector, query = RegistryFollower(store), RegistryFollower(other)
    text = collector.snapshot.receipts.written(RECEIPT)
    assert query.snapshot.receipts.read(text) == RECEIPT

    removed(path)
    newest = backups.newest()
    assert newest is not None
    assert RegistryFollower(store, backups).snapshot.receipts.read(text) == RECEIPT
    restore(url, newest.contents, backups.last_revision() + 1, NOW)
    other.create(validation.new_organization("Later", "free", NOW))
    assert query.refresh().receipts.read(text) == RECEIPT
    other.close()


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


OLD_ROWS = (
    "INSERT INTO organizations VALUES ('o', 'Acme', 'pro', '{}', 1, 1)",
    "INSERT INTO websites VALUES ('w', 'o', 'shop.example', 'Shop', 'UTC', 1, 1)",
    "INSERT INTO keys VALUES ('k', 'o', 'w', 'Key', '[\"read:data\"]', 'h', NULL, NULL, 1, 1)",
    "UPDATE revision SET number = 7",
)


def test_watching_the_file_keeps_the_locks_of_the_database(url: str, store: RegistryStore) -> None:
    """Closing any descriptor of a file gives up the locks that this process has on it."""
    furnished(store)
    other = RegistryStore(url)
    other.read_version()
    with create_engine(url).connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        other.read_version()
        other.close()
        done = subprocess.run(
            (sys.executable, "-c", LOCK, url.removeprefix("sqlite:///")), check=True, stdout=PIPE
        )
    assert done.stdout == b"locked\n"


LOCK = """
import fcntl, os, sys
try:  # the bytes on which SQLite's readers have a lock
    fcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    print("free")
except BlockingIOError:
    print("locked")
"""


def test_errors_never_show_the_password_of_the_database() -> None:
    for url in ("postgresql://u:hidden@word@h:x/d", "postgresql:/u:hidden@h/d", "u:hidden@h"):
        with pytest.raises(sa.exc.ArgumentError) as error:
            create_engine(url)
        assert "hidden" not in str(error.value)
        assert error.value.__cause__ is None


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
