"""Items lost with Kafka are a finding until an operator accepts it; more items are a new one."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deploy.cli import main
from deploy.local.status import system_status
from schemas.acknowledged_counts import ACKNOWLEDGED_FOLDER, HOUR_MS, write_hour
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import Heartbeat, PartitionProgress, write_heartbeat
from schemas.runtime.settings import Settings
from tests.installation import free_port
from tests.registries import make_registry

LOST = now_ms() // HOUR_MS * HOUR_MS - 3 * HOUR_MS
NEVER_RECEIVED = "acknowledged items were never received; run tidemark doctor"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A collector acknowledged five items three hours ago; the worker is level, with none."""
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
    for port in ("COLLECT_PORT", "QUERY_PORT", "BROKER_PORT", "BROKER_CONTROLLER_PORT"):
        monkeypatch.setenv(f"TIDEMARK_{port}", str(free_port()))
    config = Settings(data_dir=str(tmp_path))
    make_registry(config.registry_url)
    write_hour(tmp_path / ACKNOWLEDGED_FOLDER, LOST, "collector-1-0-1", {("events", "web_1"): 5})
    at = now_ms() + 60_000  # as a worker says that goes on to be level
    write_heartbeat(
        tmp_path / "run",
        Heartbeat(
            "worker-1", 1, at, "ready", (PartitionProgress("events", 0, 0, 0),), {"events": at}
        ),
    )
    return config


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Any:
    def examined() -> Any:
        with suppress(SystemExit):  # with 1 for what is found
            main(["doctor", "--json"])
        outcomes = {one["check"]: one for one in json.loads(capsys.readouterr().out)}
        return outcomes["acknowledged"]

    return examined


def test_what_was_lost_is_accepted_with_a_reason_and_told_again_when_more_is(
    settings: Settings, doctor: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    [found] = doctor()["findings"]
    assert found["problem"].startswith("5 of 5 acknowledged items were never received")
    assert f"5 {NEVER_RECEIVED}" in system_status(settings).problems

    main(["doctor", "--accept", found["id"], "--reason", "the shop sent them again"])

    assert capsys.readouterr().out == f"accepted: {found['subject']}: {found['problem']}\n"
    accepted = doctor()
    assert (accepted["state"], accepted["accepted"]) == ("ok", [found])
    assert f"5 {NEVER_RECEIVED}" not in system_status(settings).problems
    main(["audit", "--limit", "1", "--json"])
    [noted] = json.loads(capsys.readouterr().out)
    assert (noted["action"], noted["recordId"]) == ("accept", found["id"])
    assert noted["actor"].startswith("cli:")
    assert noted["fields"] == [
        f"accepted: {found['subject']}: {found['problem']}",
        "reason: the shop sent them again",
    ]

    write_hour(
        settings.data / ACKNOWLEDGED_FOLDER, LOST, "collector-2-0-1", {("events", "web_1"): 1}
    )
    [more] = doctor()["findings"]
    assert more["problem"].startswith("6 of 6 acknowledged items were never received")
    assert more["id"] != found["id"]


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("--accept", "f_0123456789ab", "--reason", "x"), "there is no finding 'f_0123456789ab'"),
        (("--accept", "f_0123456789ab"), "--accept needs --reason"),
    ],
)
def test_what_is_not_found_or_without_a_reason_is_not_accepted(
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    refusal: str,
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["doctor", *arguments])

    assert refused.value.code == 2
    assert refusal in capsys.readouterr().err
    assert settings.data.exists()
