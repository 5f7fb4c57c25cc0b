"""What the one broker is told: one KRaft node that is broker and controller, loopback only."""

from pathlib import Path

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Largest message; a request body of the largest allowed size always fits."""


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
        # Topics are declared by us, with their partitions; a typing error must not make one.
        "auto.create.topics.enable": "false",
        "message.max.bytes": MAX_MESSAGE_BYTES + 65_536,
        "replica.fetch.max.bytes": MAX_MESSAGE_BYTES + 65_536,
        # One node: every inner topic has one copy, and few partitions start sooner.
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        # After a SIGKILL the node is let in again when its old session is over: 9 s by default.
        "broker.session.timeout.ms": 3_000,
        "broker.heartbeat.interval.ms": 500,
        # The first worker of a group need not wait for company.
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1_000,
        # The default buffer is 128 MiB of heap.
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        "log.segment.bytes": 256 * 1024 * 1024,
        # The table keeps the truth; a consumer group that was away for long starts from it.
        "offsets.retention.minutes": 43_200,
        "controlled.shutdown.enable": "true",
        "num.network.threads": 2,
        "num.io.threads": 4,
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())
