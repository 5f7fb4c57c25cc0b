"""The spool of a collector process whose Kafka is stopped, frozen and started again."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import ensure_topics, required_topics
from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings
from tests.http_client import call
from tests.ingest.collector_process import (
    CollectorProcess,
    published_envelopes,
    published_names,
    start_collector,
)
from tests.installation import eventually


def health(collector: CollectorProcess) -> Any:
    return call("GET", f"{collector.url}/health").json


def wait_until_away(collector: CollectorProcess) -> None:
    """The first request finds it out, as Kafka does not acknowledge it; it may arrive later."""
    reply = collector.post({"name": "unknown", "anonymousId": "v"})
    assert (reply.status, reply.json["code"]) == (503, "OUTCOME_UNKNOWN")
    eventually(lambda: health(collector)["checks"]["kafka"] != "ok")


def wait_until_drained(collector: CollectorProcess) -> None:
    eventually(lambda: health(collector)["counts"]["spooledBytes"] == 0, 60)


def arrived(collector: CollectorProcess) -> list[str]:
    """Names of the events that deduplication leaves, without that of the first request.

    A Kafka that starts may acknowledge too late: then a spooled request is sent again.
    """
    first_of_key: dict[str, list[str]] = {}
    for number, envelope in enumerate(published_envelopes(collector)):
        names = [item["name"] for item in msgspec.json.decode(envelope.items)]
        first_of_key.setdefault(envelope.idempotency_key or f"no key {number}", names)
    return [name for names in first_of_key.values() for name in names if name != "unknown"]


def spooled(collector: CollectorProcess, *names: str) -> None:
    """Send each in a request of its own; all are accepted."""
    for name in names:
        reply = collector.post({"name": name, "anonymousId": "v"})
        assert reply.status == 200, reply.body


@pytest.mark.long
def test_what_is_accepted_while_kafka_is_stopped_arrives_once_and_in_order(
    tmp_path: Path, own_broker: Broker
) -> None:
    own_broker.start()
    names = [f"n{number}" for number in range(50)]
    with start_collector(tmp_path / "a", own_broker, spool_mb=8) as collector:
        eventually(collector.ready)
        own_broker.kill()
        wait_until_away(collector)
        spooled(collector, *names)
        [too_large] = [collector.post([{"name": "x", "filler": "x" * 60_000}] * 500)]
        away = health(collector)
        [warning] = [
            beat.warning
            for beat in eventually(
                lambda: [b for b in read_heartbeats(collector.settings.data / "run") if b.warning]
            )
        ]
        own_broker.start()
        wait_until_drained(collector)
        spooled(collector, "after")

        assert too_large.status == 413
        assert (away["status"], away["ready"]) == ("degraded", True)
        assert away["counts"]["spooledRequests"] == 50
        assert "50 requests wait in the spool for Kafka" in warning
        assert health(collector)["status"] == "ok"
        assert arrived(collector) == [*names, "after"]


@pytest.mark.long
def test_a_killed_collector_leaves_its_spool_to_the_next(
    tmp_path: Path, own_broker: Broker
) -> None:
    own_broker.start()
    collector = start_collector(tmp_path / "a", own_broker, spool_mb=8)
    collector.start()
    eventually(collector.ready)
    own_broker.kill()
    wait_until_away(collector)
    spooled(collector, "a", "b")
    collector.stop(signal.SIGKILL)
    with collector:
        eventually(lambda: health(collector)["counts"]["spooledRequests"] == 2)
        spooled(collector, "c")
        own_broker.start()
        wait_until_drained(collector)

        assert arrived(collector) == ["a", "b", "c"]


@pytest.mark.long
def test_a_collector_that_never_met_kafka_takes_requests_and_its_successor_delivers_them(
    tmp_path: Path, own_broker: Broker
) -> None:
    with CollectorProcess(tmp_path / "a", own_broker.address, spool_mb=8) as collector:
        spooled(collector, "a")
    with collector:
        assert health(collector)["ready"]
        own_broker.start()
        ensure_topics(Settings(kafka=own_broker.address), required_topics(collector.settings))
        wait_until_drained(collector)

        assert arrived(collector) == ["a"]


@pytest.mark.long
def test_a_frozen_kafka_costs_the_requests_on_the_way_and_no_later_one(
    tmp_path: Path, own_broker: Broker
) -> None:
    own_broker.start()
    assert own_broker.process
    with start_collector(tmp_path / "a", own_broker, spool_mb=8) as collector:
        eventually(collector.ready)
        spooled(collector, "before")
        os.kill(own_broker.process.pid, signal.SIGSTOP)
        unknown = collector.post({"name": "unknown", "anonymousId": "v"})
        began = time.monotonic()
        spooled(collector, *(f"n{number}" for number in range(20)))
        seconds = time.monotonic() - began
        os.kill(own_broker.process.pid, signal.SIGCONT)
        wait_until_drained(collector)
        eventually(lambda: "unknown" in published_names(collector))

        assert (unknown.status, unknown.json["code"]) == (503, "OUTCOME_UNKNOWN")
        assert seconds < 5
        assert arrived(collector) == ["before", *(f"n{number}" for number in range(20))]
        assert published_names(collector).count("unknown") == 1
