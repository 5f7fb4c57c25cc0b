"""Preflight checks: data folder, lock, ports; each error says what to do."""

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
from deploy.local.process_list import service_specs
from schemas.runtime.environment import PREFIX, InvalidSetting
from schemas.runtime.file_permissions import restrict
from schemas.runtime.restore_state import read_restore_state
from schemas.runtime.settings import Settings
from schemas.telemetry.traces import check_packages

PORT_WAIT_SECONDS = 2.0


class CannotStart(Exception):
    """A preflight check failed; the message says what to do."""


class RegistryUnavailable(Exception):
    """The registry cannot be opened, or is lost; the message names the command that restores it."""


class ListenAddress(Struct, frozen=True):
    """An address that a process will listen on, and the setting that changes it."""

    service: str
    host: str
    port: int
    setting: str
    host_setting: str = "host"


def listen_addresses(settings: Settings) -> list[ListenAddress]:
    """Every address that `tidemark up` listens on."""
    return [
        ListenAddress("the collector", settings.host, settings.collect_port, "collect_port"),
        ListenAddress("the query service", settings.host, settings.query_port, "query_port"),
        *([] if settings.kafka else _broker_addresses(settings)),
        *_metrics_addresses(settings),
    ]


def _broker_addresses(settings: Settings) -> list[ListenAddress]:
    return [
        ListenAddress("the broker", "127.0.0.1", getattr(settings, name), name)
        for name in ("broker_port", "broker_controller_port")
    ]


def _metrics_addresses(settings: Settings) -> list[ListenAddress]:
    """One of each process, counted up from the setting."""
    ports = {spec.name: spec.metrics_port for spec in service_specs(settings)}
    return [
        ListenAddress(
            f"the metrics of {name}",
            settings.metrics_host,
            port,
            "metrics_port",
            "metrics_host",
        )
        for name, port in ports.items()
        if port
    ]


def check_folder(settings: Settings) -> None:
    """Create the data folder; check that it is private, writable and has free space."""
    folder = settings.data
    try:
        folder.mkdir(parents=True, exist_ok=True)
        restrict(folder, settings)
        probe = folder / f".probe-{os.getpid()}"
        probe.write_bytes(b"tidemark")
        probe.unlink()
    except OSError as error:
        raise CannotStart(
            f"the data folder {folder} cannot be written to: {error.strerror}. "
            f"Set {PREFIX}DATA_DIR to another folder."
        ) from None
    free, floor = free_mb(folder), floor_mb(settings)
    if free is not None and free < floor:
        raise CannotStart(
            f"the disk of the data folder {folder} has {free} MB free, minimum {floor} MB. "
            f"Free some space, or set {PREFIX}DATA_DIR to a folder on another disk."
        )


def check_restore(settings: Settings) -> None:
    """Check that a restore into the data folder has ended: the rest of the tables would be lost."""
    state = read_restore_state(settings.data)
    if state and state.state == "running":
        raise CannotStart(
            f"the restore of backup {state.backup} into {settings.data} has not ended. Run the "
            "same `tidemark restore` again, or restore into another folder."
        )


def check_geo_files(settings: Settings) -> None:
    """Check that the geo databases that the settings name can be read: a worker needs them."""
    for path in settings.geo_files if settings.geo else ():
        try:
            path.open("rb").close()
        except OSError as error:
            raise CannotStart(
                f"{PREFIX}GEO: {path} cannot be read: {error.strerror}. Name .mmdb files that "
                "exist, or remove the variable."
            ) from None


def check_trace_packages(settings: Settings) -> None:
    """Check that the packages of traces are installed, if the settings want traces."""
    try:
        check_packages(settings)
    except InvalidSetting as error:
        raise CannotStart(str(error)) from None


def check_ports(needed: Sequence[ListenAddress], seconds: float = PORT_WAIT_SECONDS) -> None:
    """Check that the ports are free; wait a moment for a process that is ending."""
    until = time.monotonic() + seconds
    used: dict[int, ListenAddress] = {}
    for address in needed:
        if (previous := used.setdefault(address.port, address)) is not address:
            raise CannotStart(
                f"{PREFIX}{previous.setting.upper()} and {PREFIX}{address.setting.upper()} "
                f"are both {address.port}{_counted(address)}. Set different ports."
            )
        while error := _port_error(address):
            if time.monotonic() > until:
                raise CannotStart(error)
            time.sleep(0.1)


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on the data folder; the kernel releases it, even after SIGKILL."""
    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CannotStart(
                f"Tidemark already runs on {folder} (process {lock.read().strip() or 'unknown'}). "
                f"Stop it first, or set {PREFIX}DATA_DIR and the ports to run a second one."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _counted(address: ListenAddress) -> str:
    return f" ({address.service})" if address.setting == "metrics_port" else ""


def _port_error(address: ListenAddress) -> str | None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Without SO_REUSEPORT, which would share the port with another process of the same user.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.host, address.port))
        except OSError as error:
            variable = f"{PREFIX}{address.setting.upper()}"
            if error.errno == errno.EADDRINUSE:
                return (
                    f"port {address.port} for {address.service} is in use by another program. "
                    f"Stop that program, or set {variable}."
                )
            return (
                f"{address.host}:{address.port} for {address.service} cannot be used: "
                f"{error.strerror}. Change {variable} or {PREFIX}{address.host_setting.upper()}."
            )
    return None
