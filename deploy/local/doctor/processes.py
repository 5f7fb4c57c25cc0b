"""Checks of what runs: processes and their heartbeats, ports, and files of processes now gone."""

import re
from collections.abc import Iterator
from pathlib import Path

from deploy.local.doctor.check import Check, CheckContext, CheckSkipped
from deploy.local.preflight import CannotStart, check_ports, listen_addresses
from deploy.local.processes.process import ProcessState, pid_exists
from deploy.local.processes.process_file import ProcessesStatus, read_processes_file
from deploy.local.processes.readiness import answers_ready, is_fresh
from schemas.runtime.finding import Finding
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings

TEMPORARY_FILE_PATTERN = re.compile(r"^\.(?:processes|probe|[a-z]+(?:-\d+)?)[.-](?P<pid>\d+)$")
"""`.processes.PID`, `.probe-PID` in the data folder, `.NAME.PID` in `run`."""


def find_unready_processes(scope: CheckContext) -> Iterator[Finding]:
    """Every process that does not do its work."""
    account = _require_running(scope.settings)
    for entry in account.processes:
        if entry.state == ProcessState.READY and _has_heartbeat(
            scope.settings, entry.name, entry.pid
        ):
            continue
        silent = " although its heartbeat is old" if entry.state == ProcessState.READY else ""
        why = f"; it {entry.reason}" if entry.reason else ""
        yield Finding(
            subject=entry.name,
            problem=f"is {entry.state}{silent} after {entry.restarts} restarts{why}",
            meaning=_consequence(entry.name),
            remedy=f"read the last lines of its log: tail -n 40 {entry.log}",
        )


def _has_heartbeat(settings: Settings, name: str, pid: int | None) -> bool:
    if name == "broker":
        return True
    pulses = read_heartbeats(settings.data / "run")
    return any(p.process == name and p.pid == pid and is_fresh(p) for p in pulses)


def _consequence(name: str) -> str:
    kind = name.partition("-")[0]
    return {
        "broker": "Nothing is accepted: collectors answer 503 until it is back.",
        "collector": "What is sent to this collector is refused or waits.",
        "worker": "What is accepted waits in Kafka, and is stored later.",
        "backfill": "Imported history waits; live traffic is not concerned.",
        "keeper": "Nothing is lost; small files are not compacted and old ones not removed.",
        "query": "Questions to this process fail.",
    }.get(kind, "It does not do its part.")


def find_port_problems(scope: CheckContext) -> Iterator[Finding]:
    """Ports that others took, or services that do not answer on theirs."""
    settings = scope.settings
    if read_processes_file(settings.data):
        for what, port in (
            ("collector", settings.collect_port),
            ("query service", settings.query_port),
        ):
            if not answers_ready(settings.host, port):
                yield Finding(
                    subject=f"port {port}",
                    problem=f"the {what} does not answer GET /health/ready with 200 within 1 s",
                    meaning="A load balancer would send nothing there.",
                    remedy=f"curl -s http://{settings.host}:{port}/health says what is missing",
                )
        return
    for address in listen_addresses(settings):
        try:
            check_ports([address], seconds=0)
        except CannotStart as taken:
            yield Finding(
                subject=f"port {address.port}",
                problem=str(taken),
                meaning="tidemark up refuses to start.",
                remedy=f"find who has it: ss -ltnp 'sport = :{address.port}'",
            )


def find_leftover_files(scope: CheckContext) -> Iterator[Finding]:
    """Files under way of processes that are gone."""
    data = scope.settings.data
    for path in _leftover_files(data):
        yield Finding(
            subject=str(path),
            problem="was left half written by a process that is gone",
            meaning="It takes room, and nobody reads it.",
            remedy="tidemark doctor --repair",
        )


def remove_leftover_file(scope: CheckContext, finding: Finding) -> str | None:
    """Delete a leftover, if it is one still."""
    path = Path(finding.subject)
    if path not in set(_leftover_files(scope.settings.data)):
        return None
    size = path.stat().st_size
    path.unlink()
    return f"{path}: removed ({size} bytes)"


def _leftover_files(data: Path) -> Iterator[Path]:
    for folder in (data, data / "run"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            found = TEMPORARY_FILE_PATTERN.match(path.name)
            if found and path.is_file() and not pid_exists(int(found["pid"])):
                yield path


def _require_running(settings: Settings) -> ProcessesStatus:
    account = read_processes_file(settings.data)
    if account is None:
        raise CheckSkipped(f"nothing runs on {settings.data}")
    return account


PROCESSES_CHECK = Check(
    "processes",
    "every process is ready and shows signs of life",
    find_unready_processes,
    of_full_disk=lambda _finding: True,
)
PORTS_CHECK = Check(
    "ports",
    "services answer on their ports, and no others hold them",
    find_port_problems,
    of_full_disk=lambda _finding: True,
)
LEFTOVERS_CHECK = Check(
    "leftovers",
    "no half-written file of a dead process is left",
    find_leftover_files,
    remove_leftover_file,
)
