"""Shutdown: a collector ends its open streams on SIGTERM; restarts one by one refuse nobody."""

import json
import threading
from collections import Counter
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.local.kafka.broker import Broker
from schemas.registry import KeyScope, RegistryStore
from schemas.registry.validation import new_key
from tests.ingest.collector_process import CollectorProcess, published_names, start_collector
from tests.ingest.in_memory_collector import NOW
from tests.installation import eventually, free_port

SENDERS = 12


class KeptConnection(threading.Thread):
    """Posts one event after the other without any retry; a closed connection is opened again."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.acknowledged: set[str] = set()
        self.refused: list[str] = []
        self._port = port
        self._over = threading.Event()

    def run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=20)
        number = 0
        while not self._over.wait(0.005):
            number += 1
            name = f"{self.name}-{number}"
            body = json.dumps({"name": name, "anonymousId": self.name})
            try:
                connection.request("POST", "/track?website_id=shop", body)
                response = connection.getresponse()
                response.read()
            except (OSError, HTTPException) as error:
                self.refused.append(f"{name}: {error!r}")
                connection.close()
                continue
            if response.status == 200:
                self.acknowledged.add(name)
            elif response.status != 503 or not response.getheader("retry-after"):
                self.refused.append(f"{name}: {response.status}")
        connection.close()

    def stop(self) -> None:
        self._over.set()
        self.join()


def wait_for_more(senders: list[KeptConnection], events: int) -> None:
    """Return when that many more events are acknowledged."""
    goal = sum(len(sender.acknowledged) for sender in senders) + events
    eventually(lambda: sum(len(sender.acknowledged) for sender in senders) > goal)


def test_a_stream_ends_when_the_collector_stops(tmp_path: Path) -> None:
    collector = CollectorProcess(tmp_path, f"127.0.0.1:{free_port()}")
    store = RegistryStore(collector.settings.registry_url)
    key, text = new_key("acme", [KeyScope.READ_DATA], NOW)
    store.create(key)
    store.close()
    collector.start()
    assert collector.post({"name": "a"}).status == 503  # there is no Kafka
    parts = urlsplit(collector.url)
    follower = HTTPConnection(parts.hostname or "", parts.port, timeout=15)
    follower.request("GET", "/debug?website_id=shop&follow=1", headers={"x-api-key": text})
    stream = follower.getresponse()
    refused = json.loads(stream.readline())

    code = collector.stop()

    assert (refused["status"], refused["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert (code, stream.read()) == (0, b"")  # the whole answer, properly ended
    follower.close()


@pytest.mark.long
def test_a_rolling_restart_loses_and_doubles_nothing(tmp_path: Path, broker: Broker) -> None:
    with start_collector(tmp_path, broker) as first:
        eventually(first.ready)
        with CollectorProcess.beside(first, "collector-2") as second:
            eventually(second.heartbeat_ready)
            senders = [KeptConnection(first.settings.collect_port, f"s{n}") for n in range(SENDERS)]
            for sender in senders:
                sender.start()
            for collector in (first, second, first, second):
                wait_for_more(senders, 300)
                assert collector.stop() == 0
                collector.start()
                eventually(collector.heartbeat_ready)
            for sender in senders:
                sender.stop()

            stored = Counter(published_names(first))
            assert [line for sender in senders for line in sender.refused] == []
            assert set(stored) == {name for sender in senders for name in sender.acknowledged}
            assert set(stored.values()) == {1}
