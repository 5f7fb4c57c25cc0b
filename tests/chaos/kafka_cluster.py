"""A Kafka cluster of three nodes on this machine, each broker and controller (KRaft)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from deploy.local.kafka.broker import Broker, server_properties
from deploy.local.kafka.jars import broker_jars
from tests.installation import free_port

CLUSTER_ID = "dGlkZW1hcmstY2hhb3MtMQ"
NODES = 3
FAILOVER = {
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "250",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "500",
}
"""What deploy/REFERENCE.md recommends: how soon a dead node is noticed."""


class ClusterNode(Broker):
    """One node of a cluster."""

    def __init__(self, folder: Path, number: int, controllers: Sequence[int]) -> None:
        super().__init__(folder, free_port(), controllers[number - 1], heap_mb=256)
        self.number = number
        voters = (f"{node}@127.0.0.1:{port}" for node, port in enumerate(controllers, 1))
        self._voters = ",".join(voters)

    def prepare(self) -> list[str]:
        jars = broker_jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        text = server_properties(self.folder, self.port, self.controller_port)
        replaced = {
            "node.id": str(self.number),
            "controller.quorum.voters": self._voters,
            "offsets.topic.replication.factor": str(NODES),
            **FAILOVER,
        }
        lines = dict(line.split("=", 1) for line in text.splitlines())
        properties.write_text(
            "".join(f"{name}={value}\n" for name, value in {**lines, **replaced}.items())
        )
        if not (self.folder / "logs" / "meta.properties").exists():
            self._format(jars, properties)
        return self._java(jars, "kafka.Kafka", str(properties))

    def _cluster_id(self) -> str:
        return CLUSTER_ID


class KafkaCluster:
    """Started as a whole: the nodes elect a controller before any of them responds."""

    def __init__(self, folder: Path) -> None:
        controllers = [free_port() for _ in range(NODES)]
        self.nodes = [
            ClusterNode(folder / f"node-{number}", number, controllers)
            for number in range(1, NODES + 1)
        ]

    @property
    def address(self) -> str:
        """Bootstrap servers."""
        return ",".join(node.address for node in self.nodes)

    def __enter__(self) -> Self:
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.wait_until_ready()
        return self

    def __exit__(self, *_raised: object) -> None:
        for node in self.nodes:
            node.kill()
