"""A bad network between collector and broker: what was acknowledged is in Kafka, and once.

The broker advertises a proxy, so every byte goes through it, also after a reconnect.
"""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, required_topics
from tests.chaos.test_kafka_cluster import VisitorSender, all_accepted_since, check, sending
from tests.ingest.collector_process import CollectorProcess
from tests.installation import eventually, format_storage, free_port
from tests.tcp_proxy import TcpProxy

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: the connection is reset when it is closed."""
DELAY_SECONDS = 0.5
SLOW_BYTES = 10_000
"""Of a slow line, in a second."""


class BadNetwork(TcpProxy):
    """A proxy with a fault that is named: each chunk of bytes meets it."""

    def __init__(self, target_port: int) -> None:
        super().__init__(target_port)
        self.fault = ""
        self.chunks = 0
        """Chunks that have met the fault."""
        self._ended = threading.Event()

    @contextmanager
    def bad(self, fault: str) -> Iterator[None]:
        """Let all bytes meet the fault."""
        self._ended.clear()
        self.fault, self.chunks = fault, 0
        try:
            yield
        finally:
            self.fault = ""
            self._ended.set()

    def _pass_on(
        self, source: socket.socket, target: socket.socket, is_request: bool = False
    ) -> None:
        with suppress(OSError):  # the other direction ended
            while data := source.recv(65_536):
                self._meet_fault(data, source, target, is_request)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def _meet_fault(
        self, data: bytes, source: socket.socket, target: socket.socket, is_request: bool
    ) -> None:
        fault, ended = self.fault, self._ended
        if not fault:
            return
        self.chunks += 1
        if fault == ("requests lost" if is_request else "responses lost"):
            ended.wait()
            end(source, target)  # bytes are missing: TCP would never go on after them
        if fault == "reset before the response" and not is_request:
            target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end(source, target)
        if fault == "delayed":
            ended.wait(DELAY_SECONDS)
        if fault == "slow":
            ended.wait(len(data) / SLOW_BYTES)


def end(*sockets: socket.socket) -> NoReturn:
    """End a connection, and the thread of its other direction."""
    for each in sockets:
        each.shutdown(socket.SHUT_RD)
        each.close()
    raise ConnectionError


class AdvertisedBroker(Broker):
    """A broker that clients reach by another port."""

    advertised_port: int

    def prepare(self) -> list[str]:
        command = super().prepare()
        properties = self.folder / "server.properties"
        name = "advertised.listeners=PLAINTEXT://127.0.0.1:"
        text = properties.read_text()
        properties.write_text(text.replace(f"{name}{self.port}", f"{name}{self.advertised_port}"))
        return command


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BadNetwork]:
    folder = tmp_path_factory.mktemp("network") / "broker"
    format_storage(folder)
    broker = AdvertisedBroker(folder, port=free_port(), controller_port=free_port())
    with BadNetwork(broker.port) as network:
        broker.advertised_port = network.port
        with broker:
            yield network


def answered_since(senders: list[VisitorSender], moment: float) -> bool:
    """Whether a request of each that was begun since then was answered, by whatever."""
    return all(any(begun > moment for begun, *_ in sender.answers) for sender in senders)


@pytest.mark.parametrize(
    "fault", ["requests lost", "responses lost", "reset before the response", "delayed", "slow"]
)
def test_what_was_acknowledged_is_in_kafka_once_while_the_network_is_bad(
    network: BadNetwork, tmp_path: Path, fault: str
) -> None:
    address = f"127.0.0.1:{network.port}"
    with CollectorProcess(tmp_path, address, topic_prefix=f"{tmp_path.name}-") as collector:
        ensure_topics(collector.settings, required_topics(collector.settings))
        eventually(collector.ready)
        senders = sending(collector)
        begun = time.monotonic()
        with network.bad(fault):
            eventually(lambda: network.chunks and answered_since(senders, begun))
        over = time.monotonic()
        eventually(lambda: all_accepted_since(senders, over), 60)
        for sender in senders:
            sender.stop()

        check(collector, senders)
