"""`tidemark up`: preflight checks, log repair, start and supervise all processes."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from deploy.demo.demo_file import example_query, read_demo, refresh_addresses
from deploy.local import preflight, process_list
from deploy.local.disk_space import DiskSpaceMonitor, floor_mb, free_mb
from deploy.local.kafka.broker import Broker, BrokerFailed, KafkaUnavailable
from deploy.local.kafka.jars import InvalidJar
from deploy.local.logs.log_files import LogTail
from deploy.local.preflight import CannotStart, RegistryUnavailable
from deploy.local.process_control import ProcessCounts
from deploy.local.processes.process import ProcessSpec
from deploy.local.processes.process_file import current_status, write_processes_file
from deploy.local.processes.supervisor import StartupFailed, Supervisor
from deploy.local.status_screen import StatusScreen
from deploy.local.upload_watch import run_importer_when_needed
from schemas.lake.damage_reports import DamageReports
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import child_environment
from schemas.runtime.heartbeat import refusal_reason
from schemas.runtime.restore_state import read_restore_state
from schemas.runtime.settings import Settings
from schemas.runtime.uploads import uploads_folder

LOG_POLL_SECONDS = 0.2
STATUS_INTERVAL_SECONDS = 5.0
SMALL_HEAPS = {"MALLOC_ARENA_MAX": "2"}
"""Set for all processes, unless the user sets it: threads share two heaps of glibc."""

START_ERRORS = (
    CannotStart,
    InvalidJar,
    BrokerFailed,
    KafkaUnavailable,
    StartupFailed,
    RegistryUnavailable,
)
"""Errors that end `run_installation` with one message and exit code 1."""


def run_installation(settings: Settings, logs: bool = False) -> None:
    """Return after a stop in order; raise one of `START_ERRORS` when it cannot start."""
    # Children may have another working directory; relative paths start at this one.
    settings = msgspec.structs.replace(settings, data_dir=str(settings.data))
    preflight.check_geo_files(settings)
    preflight.check_trace_packages(settings)
    preflight.check_folder(settings)
    preflight.check_restore(settings)
    with preflight.exclusive_lock(settings.data):
        preflight.check_ports(preflight.listen_addresses(settings))
        refresh_addresses(settings)
        screen = StatusScreen(in_place=False if logs else None)
        with log_repair(settings, screen):
            specs = prepare_start(settings)
        screen.print_line(f"Tidemark: data in {settings.data}, Kafka at {settings.brokers}")
        asyncio.run(_supervise(settings, specs, screen, logs))
        screen.show_progress("stopped")


@contextmanager
def log_repair(settings: Settings, screen: StatusScreen) -> Iterator[None]:
    """Repair table logs that a power cut has torn, concurrently with the body of the `with`.

    Runs in a separate process, so that the libraries for tables do not stay in our memory. No
    finding ends the start: a table that cannot be opened does not delay the others.
    """
    if not Path(settings.lake_url.removeprefix("file://")).is_dir():
        yield
        return
    with subprocess.Popen(
        (sys.executable, "-m", "stream.storage.log_repair"),
        env=child_environment(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as repair:
        yield
        for line in (repair.communicate()[1] or "").splitlines():
            screen.print_line(f"tables: {line}")


def prepare_start(settings: Settings) -> list[ProcessSpec]:
    """Prepare the registry and the broker's storage; return the processes to run."""
    from deploy.local.registry_startup import prepare_registry  # while the log repair runs

    for folder in (settings.data / "run", uploads_folder(settings.data)):
        folder.mkdir(exist_ok=True)
    prepare_registry(settings, restores=True)
    if settings.kafka:
        return process_list.service_specs(settings)
    node = Broker(settings.data / "kafka", settings.broker_port, settings.broker_controller_port)
    return [process_list.broker_spec(settings, node), *process_list.service_specs(settings)]


async def _supervise(
    settings: Settings, specs: list[ProcessSpec], screen: StatusScreen, logs: bool
) -> None:
    environment = {**SMALL_HEAPS, **child_environment(settings), "PYTHONUNBUFFERED": "1"}

    def declare_topics() -> None:
        from deploy.local.kafka.topics import ensure_topics, required_topics

        ensure_topics(settings, required_topics(settings))

    async def redeclare_topics() -> bool:
        try:
            await asyncio.to_thread(declare_topics)
        except (KafkaUnavailable, OSError):
            return False
        return True

    def refresh() -> None:
        status = current_status(supervisor.processes)
        with suppress(OSError):  # a full disk must not prevent a stop in order
            write_processes_file(settings.data, status)
        screen.show(status)

    supervisor = Supervisor(
        specs,
        environment,
        settings.data / "logs",
        lambda: asyncio.to_thread(declare_topics),
        refresh,
        settings.hung_seconds,
        settings.log_mb * 1_048_576,
        redeclare_topics,
    )
    disk_monitor = DiskSpaceMonitor(
        floor_mb(settings), lambda: free_mb(settings.data), screen.print_line
    )
    damage_watch = DamageWatch(lambda: damage_of(settings), screen.print_line)
    tasks = [
        asyncio.create_task(_refresh_status(refresh, disk_monitor.check, damage_watch.check)),
        asyncio.create_task(ProcessCounts(settings, supervisor, os.getpid()).run()),
        asyncio.create_task(run_importer_when_needed(settings, supervisor)),
    ]
    if logs:
        tasks.append(asyncio.create_task(_follow_logs(supervisor, screen)))
    with _signals(supervisor):
        await supervisor.run(lambda: _on_ready(settings, screen))
    for task in tasks:
        task.cancel()


async def _on_ready(settings: Settings, screen: StatusScreen) -> None:
    """All processes are ready: create the demo on a first start, then print an example query."""
    screen.show_progress("ready")
    if not read_demo(settings.data) and not read_restore_state(settings.data):
        await _create_demo(settings, screen)
    if settings.demo and (query := example_query(settings, screen.is_terminal)):
        screen.print_line(query)
    from deploy.local.sign_in_link import address_to_open  # it loads the registry

    screen.print_line(address_to_open(settings, screen.is_terminal))


async def _create_demo(settings: Settings, screen: StatusScreen) -> None:
    """Run the first start in a process: its packages do not stay in our memory."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deploy.demo.first_start"),
        env=child_environment(settings),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout  # noqa: S101 - for the type checker
    try:
        async for line in process.stdout:
            screen.show_progress(line.decode().rstrip("\n"))
    finally:  # also when Tidemark is stopped meanwhile
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _refresh_status(*checks: Callable[[], None]) -> None:
    """Repeat the checks: an earlier write may have failed on a full disk."""
    while True:
        await asyncio.sleep(STATUS_INTERVAL_SECONDS)
        for check in checks:
            check()


async def _follow_logs(supervisor: Supervisor, screen: StatusScreen) -> None:
    followed = LogTail({c.spec.name: c.log for c in supervisor.processes}, screen.print_line)
    while True:
        followed.poll()
        await asyncio.sleep(LOG_POLL_SECONDS)


@contextmanager
def _signals(supervisor: Supervisor) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, supervisor.on_signal)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


REPAIR = "tidemark doctor --repair"


def damage_of(settings: Settings) -> str:
    """Damaged files and refused topics with the command to run; empty when there are none."""
    count = len(DamageReports(settings.data).files())
    files = (
        f"{count} data file{'s are' if count > 1 else ' is'} damaged; queries that need "
        f"{'them' if count > 1 else 'it'} fail, everything else works. Run {REPAIR}"
    )
    refusal = refusal_reason(settings.data / "run", now_ms())
    return ". ".join([*([files] if count else []), *([refusal] if refusal else [])])


class DamageWatch:
    """Prints a line whenever the damage changes."""

    def __init__(self, damage: Callable[[], str], say: Callable[[str], None]) -> None:
        self._find_damage = damage
        self._say = say
        self._last = ""

    def check(self) -> None:
        """Print the current damage if it has changed since the last call."""
        damage = self._find_damage()
        if damage != self._last:
            self._last = damage
            self._say(f"damage: {damage or 'none any more'}")
