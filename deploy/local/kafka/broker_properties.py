"""server.properties of the local broker (KRaft, loopback only)."""

from pathlib import Path

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
        # The default buffer is 128 MiB of heap.
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        "log.segment.bytes": 256 * 1024 * 1024,
        # The tables hold the offsets; a consumer group that was away for long starts from them.
        "offsets.retention.minutes": 43_200,
        "controlled.shutdown.enable": "true",
        "num.network.threads": 2,
        "num.io.threads": 4,
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())
