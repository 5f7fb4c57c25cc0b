"""Checks of processes, heartbeats, ports and leftover files."""

import re
from collections.abc import Iterator
from pathlib import Path

from deploy.local.doctor.check import Check, CheckContext, CheckSkipped
from deploy.local.preflight import CannotStart, check_ports, listen_addresses
from deploy.local.processes.process import ProcessState, pid_exists
from deploy.local.processes.process_file import ProcessesStatus, read_processes_file
from deploy.local.processes.readiness import answers_ready, is_fresh, unserved_metrics, warnings
from schemas.runtime.clock import now_ms
from schemas.runtime.finding import Finding
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.service_urls import service_url
from schemas.runtime.settings import Settings

TEMPORARY_FILE_PATTERN = re.compile(r"^\.(?:processes|probe|[a-z]+(?:-\d+)?)[.-](?P<pid>\d+)$")
"""`.processes.PID`, `.probe-PID` in the data folder, `.NAME.PID` in `run`."""


def find_unready_processes(scope: CheckContext) -> Iterator[Finding]:
    """Processes that are not ready."""
    status = _require_running(scope.settings)
    for entry in status.processes:
        if entry.state == ProcessState.READY and _has_heartbeat(
            scope.settings, entry.name, entry.pid
        ):
            continue
        silent = " but its heartbeat is old" if entry.state == ProcessState.READY else ""
        why = f"; it {entry.reason}" if entry.reason else ""
        yield Finding(
            subject=entry.name,
            problem=f"is {entry.state}{silent} after {entry.restarts} restarts{why}",
            meaning=_consequence(entry.name),
            remedy=f"read the end of its log: tail -n 40 {entry.log}",
        )


def _has_heartbeat(settings: Settings, name: str, pid: int | None) -> bool:
    if name == "broker":
        return True
    heartbeats = read_heartbeats(settings.data / "run")
    return any(p.process == name and p.pid == pid and is_fresh(p) for p in heartbeats)


def _consequence(name: str) -> str:
    kind = name.partition("-")[0]
    return {
        "broker": "No events are accepted: collectors respond with 503 until it is back.",
        "collector": "Requests to this collector are rejected or wait.",
        "worker": "Accepted events wait in Kafka and are stored later.",
        "backfill": "Imported events wait; live traffic is not affected.",
        "keeper": "No data is lost; small files are not compacted and old files not removed.",
        "query": "Queries to this process fail.",
    }.get(kind, "Its work is not done.")


def find_port_problems(scope: CheckContext) -> Iterator[Finding]:
    """Ports used by other programs, and services that do not respond on theirs."""
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
                    meaning="A load balancer would send no requests there.",
                    remedy=f"curl -s {service_url(settings.host, port)}/health shows why",
                )
        yield from _unserved_metrics(settings.data / "run")
        return
    for address in listen_addresses(settings):
        try:
            check_ports([address], seconds=0)
        except CannotStart as error:
            yield Finding(
                subject=f"port {address.port}",
                problem=str(error),
                meaning="tidemark up refuses to start.",
                remedy=f"find the program that uses it: ss -ltnp 'sport = :{address.port}'",
            )


def _unserved_metrics(run: Path) -> Iterator[Finding]:
    for each in unserved_metrics(run, read_heartbeats(run), now_ms()):
        yield Finding(
            subject=f"port {each.port}",
            problem=f"{each.process}: {each.problem}",
            meaning="The process works, but its metrics and alerts are missing.",
            remedy=f"find the program that uses it: ss -ltnp 'sport = :{each.port}'; the process "
            "opens the port within seconds when it is free",
        )


def find_untrusted_proxies(scope: CheckContext) -> Iterator[Finding]:
    """Proxies that send forwarding headers and are not trusted."""
    _require_running(scope.settings)
    for name, problem in warnings(read_heartbeats(scope.settings.data / "run"), now_ms()):
        yield Finding(
            subject=name,
            problem=problem,
            meaning="Visitors behind it who have the same browser count as one visitor.",
            remedy="set TIDEMARK_TRUSTED_PROXIES to the address of the proxy and restart; "
            "ingest/REFERENCE.md has settings for Caddy and nginx",
        )


def find_leftover_files(scope: CheckContext) -> Iterator[Finding]:
    """Temporary files of processes that have ended."""
    data = scope.settings.data
    for path in _leftover_files(data):
        yield Finding(
            subject=str(path),
            problem="is a temporary file of a process that has ended",
            meaning="It takes disk space and is not used.",
            remedy="tidemark doctor --repair",
        )


def remove_leftover_file(scope: CheckContext, finding: Finding) -> str | None:
    """Delete a leftover file, after checking again that it is one."""
    path = Path(finding.subject)
    if path not in set(_leftover_files(scope.settings.data)):
        return None
    size = path.stat().st_size
    path.unlink()
    return f"{path}: removed ({size} bytes)"


def _leftover_files(data: Path) -> Iterator[Path]:
    for folder in (data, data / "run"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            match = TEMPORARY_FILE_PATTERN.match(path.name)
            if match and path.is_file() and not pid_exists(int(match["pid"])):
                yield path


def _require_running(settings: Settings) -> ProcessesStatus:
    status = read_processes_file(settings.data)
    if status is None:
        raise CheckSkipped(f"no process is running on {settings.data}")
    return status


PROCESSES_CHECK = Check(
    "processes",
    "every process is ready and has a recent heartbeat",
    find_unready_processes,
    of_full_disk=lambda _finding: True,
)
PORTS_CHECK = Check(
    "ports",
    "services respond on their ports, and no other program uses them",
    find_port_problems,
    of_full_disk=lambda _finding: True,
)
PROXIES_CHECK = Check(
    "proxies",
    "every proxy that forwards requests is trusted",
    find_untrusted_proxies,
)
LEFTOVERS_CHECK = Check(
    "leftovers",
    "no temporary files of ended processes",
    find_leftover_files,
    remove_leftover_file,
)
