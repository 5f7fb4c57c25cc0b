"""An object store that is away or rejects us is one finding, and nothing is `ok` unread."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.doctor import CHECKS, CheckContext, CheckResult, run_checks
from deploy.local.doctor.check import STORE, STORE_AWAY
from deploy.local.doctor.object_store import OBJECT_STORE_CHECK
from schemas.lake.object_store import BRIEF
from schemas.lake.table_location import table_url
from schemas.registry import Backups, RegistryStore, validation
from schemas.registry.backups import write_backup
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.storage.table_setup import open_or_create
from tests.deploy.cli.command_result import run_command
from tests.installation import free_port
from tests.s3.server import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def settings(
    tmp_path: Path, new_registry: Path, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    shutil.copy(new_registry, data / "registry.db")
    settings = Settings(data_dir=str(data), lake=f"{server.url}/{tmp_path.name}")
    store = RegistryStore(settings.registry_url)
    store.create(validation.new_organization("Acme", "free", now_ms()))
    write_backup(store, Backups.for_settings(settings), now_ms())
    store.close()
    for table in (EVENTS, LEDGER, QUARANTINE):
        open_or_create(table_url(settings.lake_url, table), table, settings)
    return settings


def finding(settings: Settings) -> tuple[str, str]:
    [found] = OBJECT_STORE_CHECK.run(CheckContext(settings))
    assert found.subject == settings.lake_url
    return found.problem.removeprefix("the object store cannot be read: "), found.remedy


def results(settings: Settings) -> dict[str, CheckResult]:
    return {result.check: result for result in run_checks(CHECKS, CheckContext(settings))}


def test_a_store_that_answers_has_no_finding(settings: Settings) -> None:
    assert list(OBJECT_STORE_CHECK.run(CheckContext(settings))) == []
    found = results(settings)
    assert [found[name].state for name in (STORE, "registry", "ledger", "acknowledged")] == [
        "ok"
    ] * 4


def test_a_local_lake_is_not_looked_at(tmp_path: Path) -> None:
    local = results(Settings(data_dir=str(tmp_path)))

    assert local[STORE].skipped == "the lake is not in an object store"
    assert local["ledger"].state == "ok"


def test_without_the_store_there_is_one_finding_and_the_rest_says_what_was_not_checked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    found = results(settings)

    [rejected] = found[STORE].findings
    assert (rejected.subject, rejected.remedy) == (
        settings.lake_url,
        "correct AWS_SECRET_ACCESS_KEY",
    )
    for name in ("positions", "ledger", "acknowledged"):
        assert (found[name].state, found[name].skipped) == ("skipped", STORE_AWAY)
    registry = found["registry"]
    assert registry.state == "skipped"
    assert registry.skipped == (
        f"it is intact; its backups and the websites of the lake were {STORE_AWAY}"
    )
    assert not any(
        "the check itself failed" in f.problem for r in found.values() for f in r.findings
    )


def test_a_lost_registry_is_found_also_without_the_store(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    (settings.data / "registry.db").unlink()

    [lost] = results(settings)["registry"].findings

    assert lost.problem.startswith("it cannot be opened: ")
    assert lost.problem.endswith("registry.db is missing")
    assert "object store" in lost.remedy


@pytest.mark.parametrize(
    ("variable", "value", "problem", "remedy"),
    [
        (
            "AWS_SECRET_ACCESS_KEY",
            "wrong",
            "it rejects the secret key",
            "correct AWS_SECRET_ACCESS_KEY",
        ),
        (
            "AWS_ACCESS_KEY_ID",
            "wrong",
            "it does not know the access key",
            "correct AWS_ACCESS_KEY_ID",
        ),
        (
            "AWS_ENDPOINT_URL",
            "http://127.0.0.1:1",
            "it refuses connections: nothing listens there",
            "start it, or correct AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL or AWS_ENDPOINT",
        ),
        (
            "AWS_ENDPOINT_URL",
            "http://nowhere.invalid:9",
            "its host name is not known",
            "correct AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL or AWS_ENDPOINT, or AWS_REGION, which "
            "is part of the name at AWS",
        ),
    ],
)
def test_the_variable_is_named(
    variable: str,
    value: str,
    problem: str,
    remedy: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)

    assert finding(settings) == (problem, remedy)


def test_a_bucket_that_does_not_exist_is_said(settings: Settings) -> None:
    other = Settings(data_dir=settings.data_dir, lake="s3://other/tables")

    assert finding(other) == (
        "it has no such bucket",
        "create the bucket, or correct TIDEMARK_LAKE",
    )


def test_a_store_that_does_not_respond_takes_seconds(settings: Settings, server: S3Server) -> None:
    server.freeze()
    began = time.monotonic()
    try:
        found = results(settings)
    finally:
        server.thaw()

    [silent] = found[STORE].findings
    assert silent.problem.endswith("it does not respond in time")
    assert found["ledger"].skipped == STORE_AWAY
    assert time.monotonic() - began < 3 * BRIEF.request


def test_the_command_reports_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", settings.data_dir)
    monkeypatch.setenv("TIDEMARK_LAKE", settings.lake)
    monkeypatch.setenv("TIDEMARK_METRICS_PORT", "0")
    for name in ("COLLECT", "QUERY", "BROKER", "BROKER_CONTROLLER"):
        monkeypatch.setenv(f"TIDEMARK_{name}_PORT", str(free_port()))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    code, out, _ = run_command(("doctor", "--json"), capsys)

    states = {each["check"]: each["state"] for each in json.loads(out)}
    assert code == 1
    assert [name for name, state in states.items() if state == "findings"] == [STORE]
