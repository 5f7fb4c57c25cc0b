"""Success means that Kafka acknowledged: on a broker that is frozen, killed and late."""

import json
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import TopicSpec, ensure_topics, required_topics
from schemas.kafka.request_ids import HEADER
from schemas.runtime.settings import Settings
from tests.http_client import Reply, call
from tests.ingest.collector_process import (
    CollectorProcess,
    published_envelopes,
    published_names,
    read_records,
    read_topic,
    start_collector,
)
from tests.installation import eventually

SLACK_SECONDS = 1.5
"""What a busy machine may add to the deadline."""


class Sender(threading.Thread):
    """Posts events one after the other on one connection; records the response statuses."""

    def __init__(self, collector_process: CollectorProcess, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._port = collector_process.settings.collect_port
        self._over = threading.Event()
        self.answered: dict[str, int] = {}
        self.slowest = 0.0
        self.retry_after: set[str | None] = set()

    def run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        number = 0
        while not self._over.is_set():
            number += 1
            name = f"{self.name}-{number}"
            body = json.dumps({"name": name, "anonymousId": self.name})
            begun = time.monotonic()
            try:
                connection.request("POST", "/track?website_id=shop", body)
                response = connection.getresponse()
                response.read()
            except (OSError, HTTPException):
                connection.close()
                time.sleep(0.05)
                continue
            self.slowest = max(self.slowest, time.monotonic() - begun)
            self.answered[name] = response.status
            if response.status == 503:
                self.retry_after.add(response.headers["retry-after"])
                time.sleep(0.05)
        connection.close()

    def stop(self) -> None:
        self._over.set()
        self.join()


def senders(collector_process: CollectorProcess, count: int) -> list[Sender]:
    started = [Sender(collector_process, f"s{number}") for number in range(count)]
    for sender in started:
        sender.start()
    return started


def acknowledged(sent: list[Sender]) -> set[str]:
    return {name for s in sent for name, status in s.answered.items() if status == 200}


def test_many_requests_share_a_message_and_each_is_whole(tmp_path: Path, broker: Broker) -> None:
    with start_collector(tmp_path, broker) as collector_process:
        eventually(collector_process.ready)
        bodies = [[{"name": f"{n}-{i}"} for i in range(20)] for n in range(40)]
        with ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(collector_process.post, bodies))

        assert [reply.json["count"] for reply in replies] == [20] * 40
        names = [
            [item["name"] for item in json.loads(envelope.items)]
            for envelope in published_envelopes(collector_process)
        ]
        assert sorted(names) == sorted([item["name"] for item in body] for body in bodies)


def test_a_message_has_the_id_of_its_request(collector_process: CollectorProcess) -> None:
    url = f"http://127.0.0.1:{collector_process.settings.collect_port}/track?website_id=shop"
    reply = call("POST", url, {"name": "a"}, {"x-request-id": "request-of-a-test"})

    assert reply.status == 200
    records = read_records(collector_process)
    headers = [record.headers for found in records.values() for record in found]
    assert ((HEADER, b"request-of-a-test"),) in [tuple(found) for found in headers]


def test_the_largest_request_fits_into_one_message(collector_process: CollectorProcess) -> None:
    eventually(collector_process.ready)
    filler = "x" * 2_000
    body = [{"name": f"large-{i}", "filler": filler} for i in range(500)]

    assert collector_process.post(body).json["count"] == 500
    [large] = [
        envelope for envelope in published_envelopes(collector_process) if envelope.count == 500
    ]
    assert len(large.items) > 1_000_000


@pytest.mark.long
def test_a_frozen_kafka_delays_nobody_and_loses_nothing(tmp_path: Path, own_broker: Broker) -> None:
    own_broker.start()
    assert own_broker.process
    with start_collector(tmp_path, own_broker) as collector_process:
        eventually(collector_process.ready)
        sent = senders(collector_process, 8)
        time.sleep(1)
        os.kill(own_broker.process.pid, signal.SIGSTOP)
        # Once after the deadline, and again when it is known that Kafka does not answer.
        eventually(lambda: min(list(s.answered.values()).count(503) for s in sent) >= 2)
        unready = collector_process.ready()
        os.kill(own_broker.process.pid, signal.SIGCONT)
        eventually(collector_process.ready)
        time.sleep(1)
        for sender in sent:
            sender.stop()

        assert unready is False
        assert (
            max(s.slowest for s in sent)
            < collector_process.settings.produce_seconds + SLACK_SECONDS
        )
        assert {r for s in sent for r in s.retry_after} == {"5"}
        assert {status for s in sent for status in s.answered.values()} == {200, 503}
        stored = Counter(published_names(collector_process))
        assert acknowledged(sent) <= set(stored)
        assert set(stored.values()) == {1}


@pytest.mark.long
def test_a_killed_kafka_is_found_again(tmp_path: Path, own_broker: Broker) -> None:
    own_broker.start()
    with start_collector(tmp_path, own_broker) as collector_process:
        eventually(collector_process.ready)
        sent = senders(collector_process, 4)
        time.sleep(1)
        own_broker.kill()
        eventually(lambda: not collector_process.ready())
        own_broker.start()
        eventually(collector_process.ready)
        time.sleep(1)
        for sender in sent:
            sender.stop()

        assert {status for s in sent for status in s.answered.values()} == {200, 503}
        assert acknowledged(sent) <= set(published_names(collector_process))


@pytest.mark.long
def test_a_collector_waits_for_a_kafka_that_is_late(tmp_path: Path, own_broker: Broker) -> None:
    collector_process = CollectorProcess(tmp_path / "late", own_broker.address)
    with collector_process:
        early = collector_process.post({"name": "early"})
        ready = call("GET", f"{collector_process.url}/health/ready")
        own_broker.start()
        ensure_topics(
            Settings(kafka=own_broker.address), required_topics(collector_process.settings)
        )
        eventually(collector_process.ready)
        late = collector_process.post({"name": "late"})

        assert (early.status, early.headers["retry-after"]) == (503, "5")
        assert early.json == {
            "status": "error",
            "message": "Kafka is unavailable; nothing was accepted. Retry later",
            "code": "SERVICE_UNAVAILABLE",
        }
        assert ready.status == 503
        assert late.status == 200
        assert published_names(collector_process) == ["late"]


@pytest.mark.long
def test_links_work_without_kafka(tmp_path: Path, own_broker: Broker) -> None:
    with CollectorProcess(tmp_path / "links", own_broker.address) as collector_process:
        collector_process.add_link("spring")

        def follow() -> Reply:
            return call("GET", f"{collector_process.url}/l/spring")

        eventually(lambda: follow().status == 302)
        assert follow().headers["location"] == "https://t.example/"


def test_a_killed_collector_acknowledged_only_what_kafka_has(
    tmp_path: Path, broker: Broker
) -> None:
    with start_collector(tmp_path, broker) as collector_process:
        eventually(collector_process.ready)
        sent = senders(collector_process, 8)
        time.sleep(2)
        collector_process.stop(signal.SIGKILL)
        for sender in sent:
            sender.stop()

        stored = Counter(published_names(collector_process))
        assert len(acknowledged(sent)) > 8
        assert acknowledged(sent) <= set(stored)
        assert set(stored.values()) == {1}


def test_a_stopping_collector_finishes_its_requests(tmp_path: Path, broker: Broker) -> None:
    with start_collector(tmp_path, broker) as collector_process:
        eventually(collector_process.ready)
        sent = senders(collector_process, 8)
        time.sleep(1)
        code = collector_process.stop()
        for sender in sent:
            sender.stop()

        assert code == 0
        assert {status for s in sent for status in s.answered.values()} == {200}
        assert acknowledged(sent) <= set(published_names(collector_process))


def test_a_collector_without_kafka_stops_at_once(tmp_path: Path, own_broker: Broker) -> None:
    with CollectorProcess(tmp_path / "alone", own_broker.address) as collector_process:
        assert collector_process.stop() == 0


@pytest.mark.long
def test_a_topic_may_get_more_partitions(tmp_path: Path, broker: Broker) -> None:
    with start_collector(tmp_path, broker, partitions=1) as collector_process:
        eventually(collector_process.ready)
        topic = collector_process.settings.topic("events")
        ensure_topics(Settings(kafka=broker.address), [TopicSpec(topic, partitions=4)])

        def spread() -> bool:
            for number in range(20):
                collector_process.post({"name": "a", "anonymousId": str(number)})
            return all(read_topic(collector_process).values())

        eventually(spread, seconds=60)


def test_a_new_website_is_known_within_two_seconds(collector_process: CollectorProcess) -> None:
    collector_process.add_link("brand-new")

    begun = time.monotonic()
    eventually(lambda: call("GET", f"{collector_process.url}/l/brand-new").status == 302, seconds=5)
    assert time.monotonic() - begun < 2 + SLACK_SECONDS
