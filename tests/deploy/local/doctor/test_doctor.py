"""What `tidemark doctor` finds, and that one broken check does not keep the others from looking."""

import json
import os
import socket
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from deploy.cli import main
from deploy.local.doctor import CHECKS, Check, CheckContext, CheckSkipped, run_checks
from deploy.local.doctor.check import FULL_DISK
from deploy.local.doctor.kafka import compare_offsets
from deploy.local.doctor.machine import CLOCK_CHECK, DISK_CHECK, PERMISSIONS_CHECK
from deploy.local.doctor.processes import LEFTOVERS_CHECK, PORTS_CHECK, PROCESSES_CHECK
from deploy.local.doctor.settings import SETTINGS_CHECK
from deploy.local.kafka.offsets import TablePosition
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus, write_processes_file
from schemas.kinds import CUSTOM_EVENT, IMPORTED_EVENT
from schemas.lake.topic_identity import TopicIdentity
from schemas.lake.topic_offsets import TopicOffsets
from schemas.runtime.clock import now_ms
from schemas.runtime.finding import Finding
from schemas.runtime.heartbeat import Heartbeat, write_heartbeat
from schemas.runtime.settings import Settings
from tests.installation import free_port

A_FINDING = Finding("a file", "is gone", "Nobody can read it.", "put it back")


@pytest.fixture
def scope(tmp_path: Path) -> CheckContext:
    tmp_path.chmod(0o700)
    return CheckContext(Settings(data_dir=str(tmp_path)))


def problems(check: Check, scope: CheckContext) -> list[tuple[str, str]]:
    return [(one.subject, one.problem) for one in check.run(scope)]


def test_a_check_that_fails_is_a_finding_and_the_rest_goes_on(scope: CheckContext) -> None:
    def breaks(_scope: CheckContext) -> Iterable[Finding]:
        yield A_FINDING
        raise ZeroDivisionError("by zero\nand more")

    def waits(_scope: CheckContext) -> Iterable[Finding]:
        raise CheckSkipped("Kafka does not run")

    first, second, third = run_checks(
        [Check("one", "", breaks), Check("two", "", waits), Check("three", "", lambda _: [])], scope
    )

    assert first.findings[0] == A_FINDING
    assert first.findings[1].problem == "the check itself failed: ZeroDivisionError: by zero"
    assert (second.state, second.skipped) == ("skipped", "Kafka does not run")
    assert third.state == "ok"


def test_a_repair_is_looked_at_again_and_one_that_fails_leaves_its_finding(
    scope: CheckContext,
) -> None:
    broken = {"mends", "resists"}

    def find(_scope: CheckContext) -> Iterable[Finding]:
        return [Finding(name, "is broken", "", "") for name in sorted(broken)]

    def repair(_scope: CheckContext, finding: Finding) -> str | None:
        if finding.subject == "resists":
            raise PermissionError("not allowed")
        broken.remove(finding.subject)
        return f"{finding.subject} mended"

    (outcome,) = run_checks([Check("things", "", find, repair)], scope, repair=True)

    assert [finding.subject for finding in outcome.findings] == ["resists"]
    assert outcome.repairs == (
        "mends mended",
        "resists: not repaired: PermissionError: not allowed",
    )


def test_a_full_disk_is_one_finding_and_what_follows_from_it_stands_within(
    scope: CheckContext,
) -> None:
    def finds(*subjects: str) -> Callable[[CheckContext], Iterable[Finding]]:
        return lambda _: [Finding(one, "is not well", "Not good.", "mend it") for one in subjects]

    checks = [
        Check(FULL_DISK, "", finds("/data")),
        Check("processes", "", finds("collector-1", "keeper"), of_full_disk=lambda _: True),
        Check(
            "registry", "", finds("backup", "demo"), of_full_disk=lambda f: f.subject == "backup"
        ),
        Check("logs", "", finds("an entry")),
    ]

    disk, processes, registry, logs = run_checks(checks, scope)

    assert [one.subject for one in disk.findings] == ["/data"]
    assert disk.findings[0].meaning == (
        "Not good. It may also be the cause of: collector-1 is not well; "
        "keeper is not well; backup is not well."
    )
    assert (processes.state, processes.findings) == ("skipped", ())
    assert [one.subject for one in (*registry.findings, *logs.findings)] == ["demo", "an entry"]
    with_room = run_checks([Check(FULL_DISK, "", finds()), *checks[1:]], scope)
    assert [len(one.findings) for one in with_room] == [0, 2, 2, 1]


def test_every_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_a_folder_open_to_others_is_found_and_closed(scope: CheckContext) -> None:
    data = scope.settings.data
    data.chmod(0o755)
    (data / "demo.json").touch(0o644)

    assert [subject for subject, _ in problems(PERMISSIONS_CHECK, scope)] == [
        str(data),
        str(data / "demo.json"),
    ]
    (outcome,) = run_checks([PERMISSIONS_CHECK], scope, repair=True)

    assert outcome.state == "ok"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "demo.json").stat().st_mode) == 0o600


def test_a_clock_that_was_set_back_is_found_by_what_was_written_before(scope: CheckContext) -> None:
    run = scope.settings.data / "run"
    run.mkdir()
    beat = run / "keeper.json"
    beat.touch()
    assert problems(CLOCK_CHECK, scope) == []

    tomorrow = now_ms() / 1000 + 86_400
    os.utime(beat, (tomorrow, tomorrow))

    (finding,) = CLOCK_CHECK.run(scope)
    assert str(beat) in finding.problem
    assert "timedatectl" in finding.remedy


def test_a_process_whose_heartbeat_is_old_is_found_though_it_is_said_to_be_ready(
    scope: CheckContext,
) -> None:
    data = scope.settings.data
    entries = tuple(
        ProcessStatus(name, state, pid, 0, "", f"{data}/logs/{name}.log", reason)
        for name, state, pid, reason in (
            ("worker-1", ProcessState.READY, 7, ""),
            ("keeper", ProcessState.READY, 8, ""),
            ("worker-2", ProcessState.RESTARTING, 9, "ended with exit code 78: raise the epoch"),
        )
    )
    write_processes_file(data, ProcessesStatus(os.getpid(), True, entries))
    write_heartbeat(data / "run", Heartbeat("worker-1", 7, now_ms() - 60_000))
    write_heartbeat(data / "run", Heartbeat("keeper", 8, now_ms()))

    assert problems(PROCESSES_CHECK, scope) == [
        ("worker-1", "is ready but its heartbeat is old after 0 restarts"),
        (
            "worker-2",
            "is restarting after 0 restarts; it ended with exit code 78: raise the epoch",
        ),
    ]


def test_a_port_that_another_program_holds_is_found(scope: CheckContext) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        settings = Settings(
            data_dir=scope.settings.data_dir,
            collect_port=free_port(),
            query_port=taken,
            broker_port=free_port(),
            broker_controller_port=free_port(),
            metrics_port=0,
        )

        found = problems(PORTS_CHECK, CheckContext(settings))

    assert [subject for subject, _ in found] == [f"port {taken}"]


def test_half_written_files_of_the_dead_are_removed_and_those_of_the_living_stay(
    scope: CheckContext,
) -> None:
    data = scope.settings.data
    (data / "run").mkdir()
    gone = [data / ".processes.4194305", data / "run" / ".collector-1.4194305"]
    stay = [data / "run" / f".keeper.{os.getpid()}", data / "run" / "keeper.json", data / "lock"]
    for path in (*gone, *stay):
        path.write_text("{}")

    (outcome,) = run_checks([LEFTOVERS_CHECK], scope, repair=True)

    assert outcome.repairs == tuple(f"{path}: removed (2 bytes)" for path in gone)
    assert [path.exists() for path in (*gone, *stay)] == [False, False, True, True, True]


def test_a_setting_that_cannot_be_obeyed_is_found(scope: CheckContext) -> None:
    settings = Settings(data_dir=scope.settings.data_dir, workers=10, geo="/nowhere.mmdb")

    found = problems(SETTINGS_CHECK, CheckContext(settings))

    assert found == [
        ("TIDEMARK_GEO", "/nowhere.mmdb cannot be read"),
        ("TIDEMARK_WORKERS", "10 workers share 8 partitions"),
    ]


def test_a_disk_below_the_floor_is_found(scope: CheckContext) -> None:
    folder = scope.settings.data_dir
    short = CheckContext(Settings(data_dir=folder, disk_floor_mb=1_000_000_000))

    assert problems(DISK_CHECK, scope) == []
    (finding,) = DISK_CHECK.run(short)
    assert (finding.subject, "minimum 1000000000 MB" in finding.problem) == (folder, True)


ID = TopicIdentity("topic-1", "cluster-1")


@pytest.mark.parametrize(
    ("position", "kafka", "problem"),
    [
        (TablePosition(1, True, {0: 12}), TopicOffsets(ID, {0: 0}, {0: 12}), None),
        (TablePosition(1, True, {0: 12}), TopicOffsets(ID, {0: 12}, {0: 30}), None),
        (TablePosition(0, False, {}), TopicOffsets(ID, {0: 5}, {0: 9}), None),
        (
            TablePosition(1, True, {0: 12}),
            TopicOffsets(ID, {0: 0}, {0: 11}),
            "ends at offset 11, but table events has read up to 12",
        ),
        (
            TablePosition(1, True, {0: 12}),
            TopicOffsets(ID, {0: 15}, {0: 30}),
            "starts at offset 15, but table events is only at offset 12",
        ),
        (
            TablePosition(1, False, {0: 12}),
            TopicOffsets(ID, {0: 0}, {0: 30}),
            "is not the topic that table events was read from (recreated, or another cluster)",
        ),
    ],
)
def test_a_table_beside_another_kafka_is_found(
    position: TablePosition, kafka: TopicOffsets, problem: str | None
) -> None:
    found = [
        finding.problem for finding in compare_offsets("events", CUSTOM_EVENT, position, kafka)
    ]

    assert found == ([problem] if problem else [])


@pytest.mark.parametrize(("end", "count"), [(0, 0), (30, 1)])
def test_an_empty_topic_of_imports_may_be_new(end: int, count: int) -> None:
    """As after a restore beside a new Kafka: nobody reads it before there is an import."""
    position, kafka = TablePosition(1, False, {0: 12}), TopicOffsets(ID, {0: 0}, {0: end})

    assert len([*compare_offsets("backfill", IMPORTED_EVENT, position, kafka)]) == count


def test_the_exit_code_tells_a_program_what_was_found(
    scope: CheckContext, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = scope.settings.data
    data.chmod(0o755)
    for port in ("COLLECT_PORT", "QUERY_PORT", "BROKER_PORT", "BROKER_CONTROLLER_PORT"):
        monkeypatch.setenv(f"TIDEMARK_{port}", str(free_port()))
    monkeypatch.setenv("TIDEMARK_METRICS_PORT", "0")

    def doctor(folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("TIDEMARK_DATA_DIR", str(folder))
        try:
            main(["doctor", *arguments])
        except SystemExit as ended:
            return int(ended.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    code, said = doctor(data)
    assert code == 1
    assert f"    {data}: other users can read the data folder (mode 0755)" in said.splitlines()

    code, said = doctor(data, "--repair", "--json")
    found = {one["check"]: one for one in json.loads(said)}
    assert (code, found["permissions"]["state"]) == (0, "ok")
    assert found["permissions"]["repairs"] == [f"{data}: mode is now 0700"]

    assert doctor(data / "nowhere") == (2, "")
