"""What must hold before anything is started; each refusal is one sentence that says what to do."""

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from deploy.local.disk_space import floor_mb, free_mb
from schemas.runtime.environment import PREFIX
from schemas.runtime.file_permissions import restrict
from schemas.runtime.settings import Settings

PORT_WAIT_SECONDS = 2.0


class CannotStart(Exception):
    """Something stands in the way."""


class RegistryUnavailable(Exception):
    """The registry cannot be opened, or is lost; the message names the command that restores it."""


class ListenAddress(Struct, frozen=True):
    """An address that one of ours will listen on, and the setting that moves it."""

    service: str
    host: str
    port: int
    setting: str


def listen_addresses(settings: Settings) -> list[ListenAddress]:
    """Every address that `up` needs for itself."""
    services = [
        ListenAddress("the collector", settings.host, settings.collect_port, "collect_port"),
        ListenAddress("the query service", settings.host, settings.query_port, "query_port"),
    ]
    if settings.kafka:
        return services
    here = "127.0.0.1"
    return [
        *services,
        ListenAddress("the broker", here, settings.broker_port, "broker_port"),
        ListenAddress(
            "the broker", here, settings.broker_controller_port, "broker_controller_port"
        ),
    ]


def check_folder(settings: Settings) -> None:
    """The data folder exists, is closed to others, can be written to and has room."""
    folder = settings.data
    try:
        folder.mkdir(parents=True, exist_ok=True)
        restrict(folder, settings)
        probe = folder / f".probe-{os.getpid()}"
        probe.write_bytes(b"tidemark")
        probe.unlink()
    except OSError as refused:
        raise CannotStart(
            f"the data folder {folder} cannot be written to: {refused.strerror}. "
            f"Set {PREFIX}DATA_DIR to another one."
        ) from None
    free, floor = free_mb(folder), floor_mb(settings)
    if free is not None and free < floor:
        raise CannotStart(
            f"the disk of the data folder {folder} has {free} MB left, less than {floor}. "
            f"Make room, or set {PREFIX}DATA_DIR to a folder on another disk."
        )


def check_ports(needed: Sequence[ListenAddress], seconds: float = PORT_WAIT_SECONDS) -> None:
    """Nobody listens where we will; who is about to leave is waited for."""
    until = time.monotonic() + seconds
    taken: dict[int, ListenAddress] = {}
    for address in needed:
        if (other := taken.setdefault(address.port, address)) is not address:
            raise CannotStart(
                f"{PREFIX}{other.setting.upper()} and {PREFIX}{address.setting.upper()} "
                f"are both {address.port}. Each needs a port of its own."
            )
        while refused := _port_error(address):
            if time.monotonic() > until:
                raise CannotStart(refused)
            time.sleep(0.1)


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """The data folder is ours until the end, also when the end is a SIGKILL."""
    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CannotStart(
                f"Tidemark already runs on {folder} (process {lock.read().strip() or 'unknown'}). "
                f"Stop it first, or set {PREFIX}DATA_DIR and the ports for a second one."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _port_error(address: ListenAddress) -> str | None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Without SO_REUSEPORT: that one would share the port with a stranger of the same user.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.host, address.port))
        except OSError as refused:
            variable = f"{PREFIX}{address.setting.upper()}"
            if refused.errno == errno.EADDRINUSE:
                return (
                    f"port {address.port} for {address.service} is in use by another program. "
                    f"Stop that one, or set {variable}."
                )
            return (
                f"{address.host}:{address.port} for {address.service} cannot be listened on: "
                f"{refused.strerror}. See {variable} and {PREFIX}HOST."
            )
    return None
