"""A machine whose tables are in an object store is lost: a new one finds the registry there."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.preflight import RegistryUnavailable
from deploy.local.registry_startup import prepare_registry
from schemas.registry import Backups
from schemas.runtime.settings import Settings
from tests.deploy.cli.command_result import Run, run_command
from tests.s3.server import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Settings:
    settings = Settings(data_dir=str(tmp_path / "data"), lake=f"{server.url}/{tmp_path.name}")
    settings.data.mkdir()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TIDEMARK_DATA_DIR", settings.data_dir)
    monkeypatch.setenv("TIDEMARK_LAKE", settings.lake)
    return settings


@pytest.fixture
def run(settings: Settings, capsys: pytest.CaptureFixture[str]) -> Run:
    assert settings.data.is_dir()

    return lambda *arguments: run_command(arguments, capsys)


def create(run: Run, name: str) -> None:
    code, _, err = run("organizations", "create", "--name", name, "--id", f"org_{name}")
    assert (code, err) == (0, "")


def organizations(run: Run) -> list[str]:
    code, out, err = run("organizations", "list", "--json")
    assert code == 0, err
    return sorted(each["name"] for each in json.loads(out))


def lose_machine(settings: Settings) -> None:
    shutil.rmtree(settings.data)
    settings.data.mkdir()


def test_a_new_machine_restores_the_registry_from_the_bucket(run: Run, settings: Settings) -> None:
    create(run, "acme")
    create(run, "bravo")
    assert [str(path).rpartition("/")[0] for path in Backups.for_settings(settings).paths()] == [
        f"{settings.lake}/_registry"
    ] * 2
    lose_machine(settings)

    code, _, err = run("organizations", "list")
    assert (code, "the registry is lost" in err) == (1, True)
    code, out, _ = run("registry", "restore", "--json")

    assert code == 0
    assert json.loads(out)["file"].startswith(f"{settings.lake}/_registry/r")
    assert organizations(run) == ["acme", "bravo"]
    create(run, "charlie")
    newest = Backups.for_settings(settings).newest()
    assert newest is not None
    assert len(newest.contents.organizations) == 3


def test_a_start_restores_it_by_itself(run: Run, settings: Settings) -> None:
    create(run, "acme")
    lose_machine(settings)

    prepare_registry(settings, restores=True)

    assert organizations(run) == ["acme"]


def test_an_older_state_is_restored_by_its_url(run: Run, settings: Settings) -> None:
    create(run, "acme")
    older = str(Backups.for_settings(settings).paths()[0])
    create(run, "bravo")

    assert run("registry", "restore", "--from", f"{older}.none", "--replace")[0] == 2
    assert run("registry", "restore", "--from", older, "--replace")[0] == 0

    assert organizations(run) == ["acme"]


def test_a_new_registry_moves_the_backups_aside(
    run: Run, settings: Settings, server: S3Server
) -> None:
    create(run, "acme")

    code, out, _ = run("registry", "new", "--yes", "--json")

    assert code == 0
    backups = Backups.for_settings(settings)
    assert (organizations(run), backups.newest()) == ([], None)
    lake = server.objects / Path(settings.lake).name
    (aside,) = lake.glob("_registry.*.aside")
    assert f"{settings.lake}/{aside.name}" in json.loads(out)["aside"]
    assert len(list(aside.iterdir())) == 1


def test_without_the_store_no_second_registry_is_made(
    run: Run, settings: Settings, server: S3Server
) -> None:
    create(run, "acme")
    lose_machine(settings)
    server.kill()
    try:
        reason = "the object store of s3://.* cannot be read.* it refuses connections"
        with pytest.raises(RegistryUnavailable, match=reason):
            prepare_registry(settings, restores=True)
    finally:
        server.start()
    assert not list(settings.data.glob("registry.db*"))


def test_commands_work_without_the_store_while_the_registry_is_there(
    run: Run, settings: Settings, server: S3Server
) -> None:
    create(run, "acme")
    server.kill()
    try:
        assert organizations(run) == ["acme"]
        code, _, err = run("organizations", "create", "--name", "bravo", "--id", "org_bravo")
        assert (code, "but no backup was written" in err) == (0, True)
        assert Backups.for_settings(settings).copy is not None
    finally:
        server.start()
    assert organizations(run) == ["acme", "bravo"]
    assert run("registry", "backup")[0] == 0
    newest = Backups.for_settings(settings).newest()
    assert newest is not None
    assert len(newest.contents.organizations) == 2
