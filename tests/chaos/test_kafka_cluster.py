"""One of three brokers dies: requests go on, or are refused for as long as the election takes."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.kafka.topic_configuration import kafka_state
from deploy.local.kafka.topics import (
    TopicSpec,
    ensure_topics,
    required_topics,
    with_admin_client,
)
from schemas.kafka.topic_configuration import IN_SYNC
from schemas.runtime.settings import Settings
from tests.chaos.kafka_cluster import KafkaCluster
from tests.http_client import call
from tests.ingest.collector_process import CollectorProcess, published_names
from tests.installation import eventually

SENDERS = 24


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with KafkaCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


class VisitorSender(threading.Thread):
    """Posts the events of one visitor, which all go to one topic partition."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.answers: list[tuple[float, str, int, str | None]] = []
        """When it was sent, its name, status and Retry-After."""
        self._port = port
        self._over = threading.Event()

    def run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=20)
        number = 0
        while not self._over.wait(0.02):
            number += 1
            name, begun = f"{self.name}-{number}", time.monotonic()
            body = json.dumps({"name": name, "anonymousId": self.name})
            connection.request("POST", "/track?website_id=shop", body)
            response = connection.getresponse()
            response.read()
            retry_after = response.getheader("retry-after")
            self.answers.append((begun, name, response.status, retry_after))
        connection.close()

    def stop(self) -> None:
        self._over.set()
        self.join()

    def names(self, status: int) -> set[str]:
        return {name for _, name, answered, _ in self.answers if answered == status}

    def accepted_since(self, moment: float) -> int:
        return sum(status == 200 and begun > moment for begun, _, status, _ in self.answers)


def start(cluster: KafkaCluster, folder: Path, replication: int) -> CollectorProcess:
    collector = CollectorProcess(
        folder, cluster.address, topic_prefix=f"{folder.name}-", replication=replication
    )
    ensure_topics(Settings(kafka=cluster.address), required_topics(collector.settings))
    return collector


def sending(collector: CollectorProcess) -> list[VisitorSender]:
    senders = [VisitorSender(collector.settings.collect_port, f"v{n}") for n in range(SENDERS)]
    for sender in senders:
        sender.start()
    eventually(lambda: all(len(sender.names(200)) > 10 for sender in senders))
    return senders


def check(collector: CollectorProcess, senders: list[VisitorSender]) -> None:
    """Refusals have their header, and what was acknowledged is stored once."""
    stored = Counter(published_names(collector))
    acknowledged = {name for sender in senders for name in sender.names(200)}
    answers = [answer for sender in senders for answer in sender.answers]

    assert {status for _, _, status, _ in answers} <= {200, 503}
    assert all(retry_after for _, _, status, retry_after in answers if status == 503)
    assert acknowledged <= set(stored)
    assert set(stored.values()) == {1}


def test_all_partitions_are_back_once_leaders_are_elected(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    with start(cluster, tmp_path, replication=3) as collector:
        eventually(collector.ready)
        senders = sending(collector)
        cluster.nodes[0].kill()
        killed = time.monotonic()
        eventually(lambda: all(sender.accepted_since(killed + 2) for sender in senders))
        for sender in senders:
            sender.stop()
        cluster.nodes[0].start()

        print_refusals(senders, killed)
        check(collector, senders)


def test_partitions_that_reject_messages_are_listed(cluster: KafkaCluster) -> None:
    settings = Settings(kafka=cluster.address)

    async def create(admin: AIOKafkaAdminClient) -> None:
        strict = NewTopic("strict", 2, 3, topic_configs={IN_SYNC: "3"})
        await admin.create_topics([NewTopic("single", 6, 1), strict])

    def rejecting() -> tuple[int, int] | None:
        topics = kafka_state(settings, ["single", "strict"]).topics
        if len(topics) < 2:
            return None  # the broker that answers has not heard of them yet
        return len(topics["single"].without_leader), len(topics["strict"].below_min_in_sync)

    with_admin_client(settings, create, 30.0)
    eventually(lambda: rejecting() == (0, 0))
    cluster.nodes[0].kill()
    try:
        eventually(lambda: rejecting() == (2, 2))
    finally:
        cluster.nodes[0].start()
    eventually(lambda: rejecting() == (0, 0))


def test_brokers_are_restarted_one_after_the_other(cluster: KafkaCluster, tmp_path: Path) -> None:
    """Each once the one before has all messages: nothing is lost, and few requests are refused."""
    with start(cluster, tmp_path, replication=3) as collector:
        eventually(collector.ready)
        senders = sending(collector)
        for node in cluster.nodes:
            node.stop()
            node.start()
            eventually(lambda: in_sync(collector.settings), 60)
            eventually(partial(all_accepted_since, senders, time.monotonic()))
        for sender in senders:
            sender.stop()

        check(collector, senders)


def all_accepted_since(senders: list[VisitorSender], moment: float) -> bool:
    return all(sender.accepted_since(moment) for sender in senders)


def in_sync(settings: Settings) -> bool:
    """Whether every partition has all of its replicas."""

    async def described(admin: AIOKafkaAdminClient) -> Any:
        return await admin.describe_topics([settings.topic("events")])

    [topic] = with_admin_client(settings, described, 10)
    return all(len(each["isr"]) == len(each["replicas"]) for each in topic["partitions"])


def print_refusals(senders: list[VisitorSender], killed: float) -> None:
    """When requests were begun that were refused, in seconds since the broker died."""
    for sender in senders:
        begun = [begun - killed for begun, _, status, _ in sender.answers if status == 503]
        late = [begun - killed for begun, _, status, _ in sender.answers if begun > killed]
        span = f"{min(begun):.1f} to {max(begun):.1f} s" if begun else "none"
        print(f"{sender.name}: {len(begun)} of {len(late)} refused, begun at {span}")


def test_a_dead_broker_closes_its_own_partitions_only(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    """Without replicas its partitions stay away as long as it does."""
    with start(cluster, tmp_path, replication=1) as collector:
        eventually(collector.ready)
        senders = sending(collector)
        cluster.nodes[1].kill()
        killed = time.monotonic()
        eventually(lambda: "partitions" in degraded(collector))
        time.sleep(12)  # beyond the request timeout, after which a delivery fails
        ready, checks = collector.ready(), degraded(collector)
        late = killed + 4
        alive = [sender for sender in senders if sender.accepted_since(late)]
        cluster.nodes[1].start()
        eventually(lambda: not degraded(collector))
        for sender in senders:
            sender.stop()

        assert (ready, list(checks)) == (True, ["partitions"])
        assert len(senders) / 3 < len(alive) < len(senders)
        assert {s for sender in alive for _, _, s, _ in sender.answers} == {200}
        check(collector, senders)


def degraded(collector: CollectorProcess) -> dict[str, str]:
    """The health checks that have a problem."""
    checks = call("GET", f"{collector.url}/health").json["checks"]
    return {name: text for name, text in checks.items() if text != "ok"}


def test_a_request_never_exceeds_what_its_topic_takes(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    collector = CollectorProcess(tmp_path, cluster.address, topic_prefix="small-")
    for topic in required_topics(collector.settings):
        ensure_topics(Settings(kafka=cluster.address), [SmallTopic(topic.name)])
    with collector:
        eventually(collector.ready)
        large = collector.post([{"name": "large", "text": "x" * 2_000} for _ in range(150)])
        small = collector.post([{"name": "small", "text": "x" * 2_000} for _ in range(50)])

        assert (large.status, large.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
        assert "where topic 'small-events' accepts 134,464" in large.json["message"]
        assert small.status == 200
        assert collector.ready()


class SmallTopic(TopicSpec, frozen=True):
    """A topic that somebody else has created."""

    @property
    def configuration(self) -> dict[str, str]:
        return {"max.message.bytes": "200000"}
