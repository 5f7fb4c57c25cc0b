"""Checks of what runs: processes and their heartbeats, ports, and files of processes now gone."""

import re
from collections.abc import Iterator
from pathlib import Path

from deploy.local.doctor.check import Check, NotLooked, Scope
from deploy.local.preflight import CannotStart, addresses, check_ports
from deploy.local.processes.process import State, is_alive
from deploy.local.processes.process_file import Account, read_account
from deploy.local.processes.readiness import healthy, is_live
from schemas.runtime.finding import Finding
from schemas.runtime.heartbeat import read_pulses
from schemas.runtime.settings import Settings

OWN_TEMPORARY = re.compile(r"^\.(?:processes|probe|[a-z]+(?:-\d+)?)[.-](?P<pid>\d+)$")
"""`.processes.PID`, `.probe-PID` in the data folder, `.NAME.PID` in `run`."""


def not_serving(scope: Scope) -> Iterator[Finding]:
    """Every process that does not do its work."""
    account = _running(scope.settings)
    for entry in account.processes:
        if entry.state == State.READY and _beats(scope.settings, entry.name, entry.pid):
            continue
        silent = " although its heartbeat is old" if entry.state == State.READY else ""
        why = f"; it {entry.reason}" if entry.reason else ""
        yield Finding(
            subject=entry.name,
            problem=f"is {entry.state}{silent} after {entry.restarts} restarts{why}",
            meaning=_meaning(entry.name),
            remedy=f"read the last lines of its log: tail -n 40 {entry.log}",
        )


def _beats(settings: Settings, name: str, pid: int | None) -> bool:
    if name == "broker":
        return True
    pulses = read_pulses(settings.data / "run")
    return any(p.process == name and p.pid == pid and is_live(p) for p in pulses)


def _meaning(name: str) -> str:
    kind = name.partition("-")[0]
    return {
        "broker": "Nothing is accepted: collectors answer 503 until it is back.",
        "collector": "What is sent to this collector is refused or waits.",
        "worker": "What is accepted waits in Kafka, and is stored later.",
        "backfill": "Imported history waits; live traffic is not concerned.",
        "keeper": "Nothing is lost; small files are not compacted and old ones not removed.",
        "query": "Questions to this process fail.",
    }.get(kind, "It does not do its part.")


def not_answering(scope: Scope) -> Iterator[Finding]:
    """Ports that others took, or services that do not answer on theirs."""
    settings = scope.settings
    if read_account(settings.data):
        for what, port in (
            ("collector", settings.collect_port),
            ("query service", settings.query_port),
        ):
            if not healthy(settings.host, port):
                yield Finding(
                    subject=f"port {port}",
                    problem=f"the {what} does not answer GET /health/ready with 200 within 1 s",
                    meaning="A load balancer would send nothing there.",
                    remedy=f"curl -s http://{settings.host}:{port}/health says what is missing",
                )
        return
    for address in addresses(settings):
        try:
            check_ports([address], seconds=0)
        except CannotStart as taken:
            yield Finding(
                subject=f"port {address.port}",
                problem=str(taken),
                meaning="tidemark up refuses to start.",
                remedy=f"find who has it: ss -ltnp 'sport = :{address.port}'",
            )


def left_behind(scope: Scope) -> Iterator[Finding]:
    """Files under way of processes that are gone."""
    data = scope.settings.data
    for path in _leftovers(data):
        yield Finding(
            subject=str(path),
            problem="was left half written by a process that is gone",
            meaning="It takes room, and nobody reads it.",
            remedy="tidemark doctor --repair",
        )


def remove(scope: Scope, finding: Finding) -> str | None:
    """Delete a leftover, if it is one still."""
    path = Path(finding.subject)
    if path not in set(_leftovers(scope.settings.data)):
        return None
    size = path.stat().st_size
    path.unlink()
    return f"{path}: removed ({size} bytes)"


def _leftovers(data: Path) -> Iterator[Path]:
    for folder in (data, data / "run"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            found = OWN_TEMPORARY.match(path.name)
            if found and path.is_file() and not is_alive(int(found["pid"])):
                yield path


def _running(settings: Settings) -> Account:
    account = read_account(settings.data)
    if account is None:
        raise NotLooked(f"nothing runs on {settings.data}")
    return account


PROCESSES = Check(
    "processes",
    "every process is ready and shows signs of life",
    not_serving,
    of_full_disk=lambda _finding: True,
)
PORTS = Check(
    "ports",
    "services answer on their ports, and no others hold them",
    not_answering,
    of_full_disk=lambda _finding: True,
)
LEFTOVERS = Check(
    "leftovers", "no half-written file of a dead process is left", left_behind, remove
)
