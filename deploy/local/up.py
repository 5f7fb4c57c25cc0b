"""`tidemark up`: check, prepare, start everything, say what runs, until told to stop."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from deploy.demo.example_queries import question
from deploy.demo.registry_records import read_demo
from deploy.local import preflight, process_list
from deploy.local.damage_watch import DamageWatch, damage_of
from deploy.local.disk_space import DiskWatch, floor_mb, free_mb
from deploy.local.kafka.broker import Broker, BrokerDown
from deploy.local.kafka.jars import JarRefused
from deploy.local.logs.log_files import Followed
from deploy.local.preflight import CannotStart
from deploy.local.processes.process import Spec
from deploy.local.processes.process_file import account_of, write_account
from deploy.local.processes.supervisor import NotStarted, Supervisor
from deploy.local.status_screen import Screen
from deploy.local.unavailable import KafkaAway, RegistryAway
from schemas.runtime.settings import Settings, as_environment

FOLLOW_SECONDS = 0.2
TELL_SECONDS = 5.0

Refused = (CannotStart, JarRefused, BrokerDown, KafkaAway, NotStarted, RegistryAway)
"""What ends `up` with one message and exit code 1."""


def up(settings: Settings, logs: bool = False) -> None:
    """Return when everything has stopped in order; raise one of `Refused` if it cannot start."""
    # Children may run elsewhere; what is relative is meant from here.
    settings = msgspec.structs.replace(settings, data_dir=str(settings.data))
    preflight.check_folder(settings)
    with preflight.only_one(settings.data):
        preflight.check_ports(preflight.addresses(settings))
        screen = Screen(in_place=False if logs else None)
        with examined(settings, screen):
            specs = prepare(settings)
        screen.say(f"Tidemark: data in {settings.data}, Kafka at {settings.brokers}")
        asyncio.run(_supervise(settings, specs, screen, logs))
        screen.news("stopped")


@contextmanager
def examined(settings: Settings, screen: Screen) -> Iterator[None]:
    """Beside what is done within: mend what a power cut tore in the tables, before all starts.

    In a process of its own, because what opens tables would stay in our memory. Nothing that is
    found ends the start: a table that cannot be opened keeps no other one waiting.
    """
    if not Path(settings.lake_url.removeprefix("file://")).is_dir():
        yield
        return
    with subprocess.Popen(
        (sys.executable, "-m", "stream.storage.log_repair"),
        env={**os.environ, **as_environment(settings)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as examining:
        yield
        for line in (examining.communicate()[1] or "").splitlines():
            screen.say(f"tables: {line}")


def prepare(settings: Settings) -> list[Spec]:
    """Make the registry and the broker's storage; the processes to run."""
    from deploy.local.registry_startup import ready_registry  # beside the examination

    (settings.data / "run").mkdir(exist_ok=True)
    ready_registry(settings, restores=True)
    if settings.kafka:
        return process_list.services(settings)
    node = Broker(settings.data / "kafka", settings.broker_port, settings.broker_controller_port)
    return [process_list.broker(settings, node), *process_list.services(settings)]


async def _supervise(settings: Settings, specs: list[Spec], screen: Screen, logs: bool) -> None:
    environment = {**os.environ, **as_environment(settings), "PYTHONUNBUFFERED": "1"}

    def declare_topics() -> None:
        from deploy.local.kafka.topics import declare, topics_of

        declare(settings.brokers, topics_of(settings))

    async def declare_again() -> bool:
        try:
            await asyncio.to_thread(declare_topics)
        except (KafkaAway, OSError):
            return False
        return True

    def changed() -> None:
        account = account_of(supervisor.children)
        with suppress(OSError):  # a full disk must not keep us from stopping in order
            write_account(settings.data, account)
        screen.show(account)

    supervisor = Supervisor(
        specs,
        environment,
        settings.data / "logs",
        lambda: asyncio.to_thread(declare_topics),
        changed,
        settings.hung_seconds,
        settings.log_mb * 1_048_576,
        declare_again,
    )
    room = DiskWatch(floor_mb(settings), lambda: free_mb(settings.data), screen.say)
    damage = DamageWatch(lambda: damage_of(settings), screen.say)
    beside = [asyncio.create_task(_keep_told(changed, room.look, damage.look))]
    if logs:
        beside.append(asyncio.create_task(_follow(supervisor, screen)))
    with _signals(supervisor):
        await supervisor.run(lambda: _once_ready(settings, supervisor, screen))
    for task in beside:
        task.cancel()


async def _once_ready(settings: Settings, supervisor: Supervisor, screen: Screen) -> None:
    """Everything answers: make the demo the first time, then show a question to ask."""
    screen.news("ready")
    if not read_demo(settings.data):
        from deploy.demo.first_start import first_start

        await asyncio.to_thread(first_start, settings, screen.news, supervisor.stopping.is_set)
    if settings.demo and (asked := question(settings, screen.private)):
        screen.say(asked)


async def _keep_told(*looks: Callable[[], None]) -> None:
    """Say how it is now and then, too: what was written last may have found no room."""
    while True:
        await asyncio.sleep(TELL_SECONDS)
        for look in looks:
            look()


async def _follow(supervisor: Supervisor, screen: Screen) -> None:
    followed = Followed({c.spec.name: c.log for c in supervisor.children}, screen.say)
    while True:
        followed.read_on()
        await asyncio.sleep(FOLLOW_SECONDS)


@contextmanager
def _signals(supervisor: Supervisor) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, supervisor.signalled)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
