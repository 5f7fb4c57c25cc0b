"""GET /debug of several collector processes: of one machine, and of two with a Valkey server."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from deploy.local.kafka.broker import Broker
from schemas.registry import KeyScope, RegistryStore
from schemas.registry.validation import new_key
from tests.http_client import call
from tests.ingest.collector_process import CollectorProcess, start_collector
from tests.ingest.in_memory_collector import NOW
from tests.installation import eventually, free_port
from tests.valkey_server import PASSWORD, ValkeyServer


def beside(first: CollectorProcess, data: Path | None = None) -> CollectorProcess:
    """Another process on a port of its own, on the same machine or on one of its own."""
    second = CollectorProcess.beside(first, "collector-2")
    second.settings = replace(
        first.settings,
        collect_port=free_port(),
        data_dir=str(data or first.settings.data),
        registry=first.settings.registry_url,
    )
    return second


def reader_key(collector: CollectorProcess) -> str:
    store = RegistryStore(collector.settings.registry_url)
    key, text = new_key("acme", [KeyScope.READ_DATA], NOW)
    store.create(key)
    store.close()
    return text


def debug(collector: CollectorProcess, key: str) -> Any:
    url = f"{collector.url}/debug?website_id=shop"
    reply = call("GET", url, headers={"x-api-key": key})
    assert reply.status == 200, reply.body
    return reply.json


def names(body: Any) -> list[str]:
    return [line["item"]["name"] for line in body["items"]]


def accepted_names(body: Any) -> list[str]:
    return [line["item"]["name"] for line in body["items"] if line["accepted"]]


@contextmanager
def following(collector: CollectorProcess, key: str) -> Iterator[Iterator[Any]]:
    """The lines of a stream."""
    connection = HTTPConnection("127.0.0.1", collector.settings.collect_port, timeout=60)
    connection.request("GET", "/debug?website_id=shop&follow=1", headers={"x-api-key": key})
    yield (json.loads(line) for line in connection.getresponse() if line.strip())
    connection.close()


@pytest.mark.long
def test_processes_of_a_machine_list_what_all_received(tmp_path: Path, broker: Broker) -> None:
    with start_collector(tmp_path, broker) as one, beside(one) as other:
        key = reader_key(one)
        eventually(one.ready)
        eventually(other.ready)
        assert one.post({"name": "a"}).status == 200
        assert other.post({"name": "b"}).status == 200
        assert {each.post({"name": 7}).status for each in (one, other)} == {400}
        for each in (one, other):
            body = debug(each, key)
            assert (accepted_names(body), body["processes"]) == (["b", "a"], 2)
            assert [line["count"] for line in body["rejections"]] == [2]
            assert "warning" not in body

        with following(one, key) as lines:
            assert [next(lines)["item"]["name"] for _ in "ab"] == ["a", "b"]
            assert [next(lines)["accepted"] for _ in range(4)] == [False] * 4  # item, request
            other.post({"name": "c"})
            assert next(lines)["item"]["name"] == "c"

            other.process.send_signal(signal.SIGSTOP)
            assert "1 other collector processes did not respond" in next(lines)["warning"]
        body = debug(one, key)
        assert (accepted_names(body), body["processes"]) == (["a"], 1)
        assert "1 other collector processes did not respond" in body["warning"]

        other.process.kill()
        other.process.wait()
        body = debug(one, key)
        assert (accepted_names(body), body["processes"]) == (["a"], 1)
        assert "warning" not in body
        other.start()


def test_machines_list_what_all_received(tmp_path: Path, broker: Broker) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    with ValkeyServer() as server:
        settings = {"limits_url": server.url, "limits_password_file": str(password)}
        with (
            start_collector(tmp_path / "one", broker, **settings) as one,
            beside(one, tmp_path / "two") as other,
        ):
            key = reader_key(one)
            eventually(one.ready)
            eventually(other.ready)
            assert other.post({"name": "far"}).status == 200
            eventually(lambda: names(debug(one, key)) == ["far"])
            assert one.post({"name": "near"}).status == 200
            assert names(debug(other, key)) == ["near", "far"]

            server.kill()
            body = debug(one, key)
            assert (names(body), body["processes"]) == (["near"], 1)
            assert "only the requests of this machine are listed" in body["warning"]

            server.start()
            eventually(lambda: names(debug(one, key)) == ["near", "far"])
            assert "warning" not in debug(one, key)
