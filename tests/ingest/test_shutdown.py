"""Shutdown: a collector ends its open streams on SIGTERM."""

import json
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from schemas.registry import KeyScope, RegistryStore
from schemas.registry.validation import new_key
from tests.ingest.collector_process import CollectorProcess
from tests.ingest.in_memory_collector import NOW
from tests.installation import free_port


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
