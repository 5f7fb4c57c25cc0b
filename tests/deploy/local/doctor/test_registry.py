"""What `tidemark doctor` finds of the registry, and what it mends."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from deploy.demo.demo_file import DEMO_FILE
from deploy.demo.first_start import create_demo
from deploy.local.doctor import CheckContext, CheckSkipped
from deploy.local.doctor.registry import REGISTRY_CHECK
from schemas.registry import Backups, Organization, RegistryStore, Website, validation
from schemas.registry.backups import write_backup
from schemas.registry.database import create_engine
from schemas.runtime.clock import now_ms
from schemas.runtime.finding import Finding
from schemas.runtime.settings import Settings
from schemas.tables import LEDGER
from tests.query.lake import Lake, Stored

HOUR_MS = 3_600_000


@pytest.fixture
def settings(tmp_path: Path, new_registry: Path) -> Settings:
    shutil.copy(new_registry, tmp_path)
    return Settings(data_dir=str(tmp_path))


@pytest.fixture
def store(settings: Settings) -> Iterator[RegistryStore]:
    store = RegistryStore(settings.registry_url, clock=lambda: now_ms() - HOUR_MS)
    yield store
    store.close()


@pytest.fixture
def website(settings: Settings, store: RegistryStore) -> Website:
    owner = store.create(validation.new_organization("Acme", "free", now_ms()))
    website = store.create(validation.new_website(owner.id, "shop.example", now_ms()))
    write_backup(store, Backups.for_settings(settings), now_ms())
    return website


def findings(settings: Settings) -> list[Finding]:
    return list(REGISTRY_CHECK.run(CheckContext(settings)))


def repaired(settings: Settings, finding: Finding) -> str | None:
    assert REGISTRY_CHECK.repair is not None
    return REGISTRY_CHECK.repair(CheckContext(settings), finding)


def stored(settings: Settings, subject: str) -> None:
    now = datetime.now(UTC)
    values = {"subject_id": subject, "ts": now, "received_at": now, "topic": "events", "stored": 7}
    Lake(Path(settings.lake_url)).holds(Stored(LEDGER, values))


def test_a_whole_registry_has_no_finding(settings: Settings, website: Website) -> None:
    stored(settings, website.id)

    assert findings(settings) == []


def test_before_a_first_start_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(CheckSkipped, match="there is no registry yet"):
        findings(Settings(data_dir=str(tmp_path / "nothing")))


def test_a_lost_registry_is_found_and_brought_back(
    settings: Settings, store: RegistryStore, website: Website
) -> None:
    path = settings.data / "registry.db"
    store.close()
    path.write_bytes(b"")

    (found,) = findings(settings)

    assert (found.subject, found.problem) == (
        str(path),
        f"the registry is lost: {path} is empty",
    )
    assert found.remedy == "tidemark registry restore"
    assert "restored from" in str(repaired(settings, found))
    assert findings(settings) == []


def test_a_backup_that_nobody_writes_any_more_is_found_and_written(
    settings: Settings, store: RegistryStore, website: Website
) -> None:
    store.update(Website, website.id, now_ms(), name="Changed an hour ago")

    (found,) = findings(settings)

    assert found.problem.startswith("the newest backup is from ")
    assert "backup written" in str(repaired(settings, found))
    assert findings(settings) == []


def test_a_damaged_backup_is_found_before_it_is_needed(
    settings: Settings, website: Website
) -> None:
    (backup,) = Backups.for_settings(settings).paths()
    backup.write_bytes(backup.read_bytes().replace(b"shop.example", b"shop.exbmple"))

    (found,) = findings(settings)

    assert "wrong checksum" in found.problem


def test_a_registry_of_another_form_is_found(settings: Settings, website: Website) -> None:
    engine = create_engine(settings.registry_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0004'"))
    engine.dispose()

    (found,) = findings(settings)

    assert "its schema has revision 0004" in found.problem


def test_a_demo_of_another_registry_is_found(
    settings: Settings, store: RegistryStore, website: Website
) -> None:
    demo = create_demo(settings)
    store.delete(Organization, demo.organization_id)
    write_backup(store, Backups.for_settings(settings), now_ms())

    (found,) = findings(settings)

    assert found.subject == str(settings.data / DEMO_FILE)
    assert found.problem == "the registry does not know its website and its link and its key"


def test_rows_of_a_website_that_the_registry_lost_are_found_and_those_of_a_deleted_one_not(
    settings: Settings, store: RegistryStore, website: Website
) -> None:
    other = store.create(validation.new_organization("Other", "free", now_ms()))
    deleted = store.create(validation.new_website(other.id, "gone.example", now_ms()))
    store.delete(Organization, other.id)
    write_backup(store, Backups.for_settings(settings), now_ms())
    for subject in (website.id, deleted.id, other.id, "web_lost"):
        stored(settings, subject)

    (found,) = findings(settings)

    assert found.problem.endswith("that the registry does not know: web_lost (7 rows)")
