"""An installation whose registry is lost: nothing is made anew in silence, and it comes back."""

import getpass
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deploy.local.preflight import RegistryUnavailable
from deploy.local.registry_startup import prepare_registry, registry_problem
from deploy.local.status import system_status
from schemas.registry import Backups, Organization, RegistryFollower, RegistryStore, Snapshot
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from tests.deploy.cli.command_result import Run, run_command


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
    return Settings(data_dir=str(tmp_path))


@pytest.fixture
def run(settings: Settings, capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: run_command(arguments, capsys)


def furnished(run: Run) -> tuple[str, str]:
    """An organization and the text of its key."""
    _, out, _ = run("organizations", "create", "--name", "Acme", "--id", "org_acme")
    assert "org_acme" in out
    website = ("--organization", "org_acme", "--domain", "shop.example", "--id", "web_shop")
    assert run("websites", "create", *website)[0] == 0
    _, out, _ = run("keys", "create", "--organization", "org_acme", "--scope", "admin")
    return "org_acme", out.splitlines()[-1].split()[-1]


def test_a_registry_deleted_beside_a_lake_is_not_made_anew_by_a_command(
    run: Run, settings: Settings
) -> None:
    furnished(run)
    path = settings.data / "registry.db"
    path.unlink()

    code, _, err = run("websites", "list")

    assert code == 1
    assert f"the registry is lost: {path} is missing. `tidemark registry restore` restores" in err
    assert "`tidemark registry new` creates an empty one" in err
    assert not path.exists()


def test_a_lake_without_any_registry_or_backup_is_not_given_a_new_one(settings: Settings) -> None:
    (settings.data / "lake" / "events" / "_delta_log").mkdir(parents=True)

    with pytest.raises(
        RegistryUnavailable, match="There is no backup: restore your own copy of the file"
    ):
        prepare_registry(settings, restores=True)
    assert not (settings.data / "registry.db").exists()


def test_the_keys_work_again_after_a_restore(run: Run, settings: Settings) -> None:
    _, text = furnished(run)
    (settings.data / "registry.db").unlink()

    code, out, err = run("registry", "restore")

    assert (code, err) == (0, "")
    assert "organizations  1" in out
    store = RegistryStore(settings.registry_url)
    restored = Snapshot.read(store)
    store.close()
    assert restored.find_key(text, now_ms()) is not None
    assert [*restored.websites] == ["web_shop"]


def test_no_command_shows_the_secret_that_signs_receipts(run: Run, settings: Settings) -> None:
    furnished(run)
    store = RegistryStore(settings.registry_url)
    secret = store.read_contents().receipt_secret
    store.close()

    output = [
        run(*command, "--json")
        for command in (("registry", "backup"), ("registry", "restore", "--replace"), ("audit",))
    ]

    assert len(secret) == 64
    assert [code for code, *_ in output] == [0, 0, 0]
    assert secret not in repr(output)


def test_a_start_at_night_brings_a_zeroed_registry_back_and_says_so(
    run: Run, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    furnished(run)
    path = settings.data / "registry.db"
    path.write_bytes(bytes(path.stat().st_size))

    prepare_registry(settings, restores=True)

    output = capsys.readouterr().err
    assert f"the registry was lost: {path} is not a database any more; it was restored" in output
    assert "the old file is kept as registry.db." in output
    assert run("organizations", "show", "org_acme")[0] == 0


def test_a_registry_at_a_url_that_was_given_is_not_restored_by_itself(
    run: Run, settings: Settings
) -> None:
    """The URL may be the mistake."""
    furnished(run)
    wrong = f"sqlite:///{settings.data / 'wrong.db'}"

    with pytest.raises(RegistryUnavailable, match=r"wrong\.db is missing"):
        prepare_registry(Settings(data_dir=settings.data_dir, registry=wrong), restores=True)


def test_beginning_anew_is_said_and_keeps_what_was_there(run: Run, settings: Settings) -> None:
    furnished(run)

    code, *_ = run("registry", "new", "--yes")

    assert code == 0
    assert run("organizations", "list", "--json")[1] == "[]\n"
    assert Backups.for_settings(settings).newest() is None
    assert len(list(settings.data.glob("registry.db.*.aside"))) == 1
    assert len(list((settings.data / "lake").glob("_registry.*.aside"))) == 1


def test_a_whole_registry_is_not_overwritten_by_a_restore(run: Run, settings: Settings) -> None:
    furnished(run)
    assert run("organizations", "update", "org_acme", "--name", "Renamed")[0] == 0
    older = Backups.for_settings(settings).paths()[1]

    code, _, err = run("registry", "restore", "--from", str(older))
    assert (code, "add --replace" in err) == (2, True)
    assert run("registry", "restore", "--from", str(older), "--replace")[0] == 0

    assert "Acme" in run("organizations", "show", "org_acme")[1]
    assert run("organizations", "update", "org_acme", "--name", "Newest")[0] == 0
    newest = Backups.for_settings(settings).newest()
    assert newest is not None
    assert newest.contents.organizations[0].name == "Newest"


def test_an_id_given_by_hand_is_checked_and_never_taken_from_another(run: Run) -> None:
    furnished(run)

    again = run("organizations", "create", "--name", "B", "--id", "org_acme")
    assert again == (2, "", "tidemark: this id is already taken\n")
    code, _, err = run("organizations", "create", "--name", "B", "--id", "org acme")
    assert (code, "'id' must have 1 to 32 letters, digits, '_' or '-'" in err) == (2, True)


def test_a_service_starts_with_the_backup_while_the_registry_is_missing(
    run: Run, settings: Settings
) -> None:
    _, text = furnished(run)
    (settings.data / "registry.db").unlink()
    store = RegistryStore(settings.registry_url)

    follower = RegistryFollower(store, Backups.for_settings(settings))

    assert follower.snapshot.find_key(text, now_ms()) is not None
    assert not (settings.data / "registry.db").exists()
    store.close()


def test_the_trail_names_who_worked_at_the_command_line_and_goes_on_after_a_restore(
    run: Run, settings: Settings
) -> None:
    furnished(run)
    (settings.data / "registry.db").unlink()
    assert run("registry", "restore")[0] == 0
    assert run("websites", "update", "web_shop", "--name", "Shop")[0] == 0

    trail = json.loads(run("audit", "--json")[1])

    assert [(one["number"], one["action"], one["kind"], one["fields"]) for one in trail] == [
        (5, "update", "website", ["name"]),
        (4, "restore", "registry", []),
    ]
    assert {one["actor"] for one in trail} == {f"cli:{getpass.getuser()}"}
    assert "web_shop" in run("audit", "--organization", "org_acme")[1]


def test_status_says_that_the_registry_is_lost(run: Run, settings: Settings) -> None:
    furnished(run)
    assert registry_problem(settings) is None
    path = settings.data / "registry.db"
    path.unlink()

    output = f"the registry is lost: {path} is missing; run `tidemark registry restore`"

    assert output in system_status(settings).problems


def test_a_damaged_registry_with_later_changes_than_its_backup_is_not_set_back_at_night(
    run: Run, settings: Settings
) -> None:
    """A key that was revoked since would work again."""
    furnished(run)
    store = RegistryStore(settings.registry_url)
    store.update(Organization, "org_acme", now_ms(), name="Not backed up")
    store.close()
    path = settings.data / "registry.db"
    with closing(sqlite3.connect(path)) as database:
        page = "SELECT rootpage FROM sqlite_master WHERE name = 'ix_keys_organization_id'"
        ((number,),) = database.execute(page).fetchall()
    with path.open("r+b") as file:
        file.seek((number - 1) * 4096)
        file.write(b"\xff" * 4096)

    with pytest.raises(RegistryUnavailable, match="backup is older than the damaged registry"):
        prepare_registry(settings, restores=True)
    assert run("registry", "restore")[0] == 0
    assert "Acme" in run("organizations", "show", "org_acme")[1]
