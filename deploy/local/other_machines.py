"""Other machines: what their processes say of their health, and which workers Kafka knows.

Heartbeats are files of one machine. Every process also serves its health on its port of metrics,
and Kafka knows the members of the consumer group wherever they run.
"""

import http.client
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import msgspec
from msgspec import Struct

from schemas.http.health import Health
from schemas.runtime.settings import Settings

TIMEOUT_SECONDS = 3.0
CONCURRENT_REQUESTS = 32


class Address(Struct, frozen=True):
    """Where a process serves its health: its port of metrics, or that of its service."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RemoteProcess(Struct, frozen=True, rename="camel"):
    """What was answered at an address."""

    address: str
    name: str | None
    """None without an answer of a process."""
    state: Literal["ready", "unready", "away"]
    problem: str | None = None


class GroupWorker(Struct, frozen=True, rename="camel"):
    """A worker in Kafka's consumer group, on any machine."""

    name: str
    machine: str
    """Its address as Kafka sees it."""
    partitions: int


def parse_address(text: str) -> Address:
    """`HOST:PORT`; ValueError for anything else."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} is no HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def ask_processes(addresses: Sequence[Address]) -> tuple[RemoteProcess, ...]:
    """Ask all at the same time; a name that stands for several machines asks each of them."""
    with ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool:
        resolved = pool.map(_resolve, addresses)
        answers = [
            pool.map(_ask, found) if found else [_away(address, "the name is not known")]
            for address, found in zip(addresses, resolved, strict=True)
        ]
        return tuple(process for group in answers for process in group)


def group_workers(settings: Settings) -> tuple[GroupWorker, ...] | None:
    """The workers of all machines; None while Kafka does not tell."""
    from deploy.local.kafka.group_partitions import members_or_none  # with the client of Kafka

    members = members_or_none(settings)
    if members is None:
        return None
    return tuple(GroupWorker(each.name, each.host, len(each.partitions)) for each in members)


def _resolve(address: Address) -> list[Address]:
    """The addresses of a name: of IPv4, or of IPv6 when it has no others."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    families = {family for family, *_ in found}
    chosen = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
    hosts = dict.fromkeys(str(at[0]) for family, *_, at in found if family == chosen)
    return [Address(host, address.port) for host in hosts]


def _ask(address: Address) -> RemoteProcess:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/health")
        health = msgspec.json.decode(connection.getresponse().read(), type=Health)
    except (msgspec.DecodeError, http.client.HTTPException):
        return _away(address, "what answers is no process of Tidemark")
    except OSError as error:
        return _away(address, f"no answer: {error.strerror or error}")
    finally:
        connection.close()
    failed = [f"{name}: {result}" for name, result in health.checks.items() if result != "ok"]
    state: Literal["ready", "unready"] = "ready" if health.live and health.ready else "unready"
    return RemoteProcess(str(address), health.service, state, "; ".join(failed) or None)


def _away(address: Address, problem: str) -> RemoteProcess:
    return RemoteProcess(str(address), None, "away", problem)
