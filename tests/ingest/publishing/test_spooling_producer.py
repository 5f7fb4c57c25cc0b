"""SpoolingProducer: order, bounds, and what a process that ended left, without a Kafka."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.publishing.acknowledged_counts import AcknowledgedCounter
from ingest.publishing.click_queue import ClickQueue, EncodedClick
from ingest.publishing.partition_queue import (
    DeliveryReport,
    DeliveryStatus,
    PendingDelivery,
)
from ingest.publishing.producer import KafkaAway
from ingest.publishing.spool import HOUR_MS, Spool, has_spooled_requests
from ingest.publishing.spool_file import Slot, SpoolFile
from ingest.publishing.spooling_producer import SpoolingProducer, add_spool_gauges
from schemas.acknowledged_counts import ACKNOWLEDGED_FOLDER, read_hours
from schemas.envelope import Envelope, decode_envelope, encode_envelope
from schemas.errors import PayloadTooLarge, Unavailable
from schemas.runtime.settings import Settings
from schemas.spool_deliveries import Delivery, read_delivery
from schemas.telemetry.instruments import REGISTRY
from tests.asgi_client import send_request
from tests.ingest.in_memory_collector import NOW, in_memory_collector
from tests.ingest.lone_collector import lone_collector

MIB = 1024 * 1024


class FakeKafka:
    """A list of item names by partition key; a test says what is away."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, str]] = []
        self.keys: list[str] = []
        self.unavailable_reason: str | None = "no broker responds"
        self.partition_problem: str | None = None
        self.closed: set[int] = set()
        """Partition keys whose breaker is open."""
        self.too_large: set[str] = set()
        self.unknown = 0
        """How many of the next requests Kafka has and does not acknowledge."""
        self.disk: Any = SimpleNamespace(reserve=lambda _size: None)

    def check_size(self, topic: str, size: int) -> None:
        if size > 3 * MIB:
            raise PayloadTooLarge("too large")

    def enqueue(
        self, topic: str, partition_key: int, envelopes: Sequence[bytes], items: int
    ) -> PendingDelivery:
        if self.unavailable_reason is not None or partition_key in self.closed:
            raise KafkaAway("Kafka is unavailable")
        envelope = decode_envelope(envelopes[0])
        name = envelope.items.decode()
        if name in self.too_large:
            raise PayloadTooLarge("too large")
        self.sent.append((partition_key, name))
        self.keys.append(envelope.idempotency_key)
        report: asyncio.Future[DeliveryReport] = asyncio.get_running_loop().create_future()
        status = DeliveryStatus.ACKNOWLEDGED
        if self.unknown:
            self.unknown -= 1
            status = DeliveryStatus.UNKNOWN
        report.set_result(DeliveryReport(status, partition_key % 8, len(self.sent), "id"))
        return PendingDelivery(report, 0)


class Collector:
    """One process: its producer, and the Kafka that it reaches."""

    def __init__(self, data: Path, kafka: FakeKafka, **settings: Any) -> None:
        self.now = NOW
        self.kafka = kafka
        self.data = data
        all_settings: dict[str, Any] = {"spool_mb": 8, **settings}
        self.spool = Spool(
            Settings(data_dir=str(data), **all_settings), "collector-1", lambda: self.now
        )
        self.counter = AcknowledgedCounter(data, "collector-1", lambda: self.now)
        self.producer = SpoolingProducer(kafka, self.spool, self.counter)

    def send(self, key: int, name: str) -> PendingDelivery:
        envelope = Envelope("shop", "acme", self.now, 1, name.encode())
        return self.producer.enqueue("events", key, [encode_envelope(envelope)], 1)

    async def spooled(self, *names: str, key: int = 1) -> list[str]:
        """Send requests while Kafka is away; their ids."""
        deliveries = [self.send(key, name) for name in names]
        statuses = {(await delivery.report).status for delivery in deliveries}
        assert statuses == {DeliveryStatus.SPOOLED}
        return [delivery.spool_id for delivery in deliveries]

    async def drained(self) -> None:
        """Kafka is back, and has everything."""
        self.kafka.unavailable_reason = None
        await until(lambda: not self.spool.bytes and self.spool.oldest_ms is None)

    def killed(self) -> None:
        """End as by SIGKILL: nothing is written, and the kernel ends the locks."""
        for task in self.producer._tasks:
            task.cancel()
        for descriptor in self.spool._locks.values():
            os.close(descriptor)

    @property
    def files(self) -> list[str]:
        """Spool files of all processes."""
        return sorted(path.suffix for path in self.data.glob("spool/*.*/*.spool"))


def spool_file(data: Path, suffix: str) -> Path:
    """The only file with this suffix in the spool folders."""
    [file] = data.glob(f"spool/*.*/*{suffix}")
    return file


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def until(check: Callable[[], bool]) -> None:
    """Return when that is so; `run` limits the time."""
    while not check():  # noqa: ASYNC110 - a state, not an event
        await asyncio.sleep(0.01)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def within_time() -> None:
        async with asyncio.timeout(20):
            await work()

    asyncio.run(within_time())


def test_nothing_is_opened_while_kafka_is_there(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        kafka.unavailable_reason = None
        collector = Collector(tmp_path, kafka)
        collector.producer.start()
        report = await collector.send(1, "a").report
        await collector.producer.close()

        assert (report.status, kafka.sent) == (DeliveryStatus.ACKNOWLEDGED, [(1, "a")])
        assert names_in(tmp_path) == []

    run(work)


def test_what_was_spooled_goes_to_kafka_in_order_and_leaves_no_file(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        collector.producer.start()
        ids = await collector.spooled("a", "b", "c")
        assert (collector.files, collector.spool.requests) == ([".spool"], 3)
        assert read_delivery(tmp_path, ids[1]) is None
        await collector.drained()

        assert collector.kafka.sent == [(1, "a"), (1, "b"), (1, "c")]
        assert collector.kafka.keys == [f"spool:{id_}" for id_ in ids]
        assert [read_delivery(tmp_path, id_) for id_ in ids] == [
            Delivery(1, offset, 0, "id") for offset in (1, 2, 3)
        ]
        assert collector.spool.requests == 0
        collector.counter.write()
        hours = read_hours(tmp_path / ACKNOWLEDGED_FOLDER)
        assert [*hours.values()] == [{("events", "shop"): 3}]
        await collector.producer.close()
        assert names_in(tmp_path / "spool") == ["delivered"]

    run(work)


def test_a_request_waits_behind_earlier_ones_of_its_visitor_only(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        await collector.spooled("a", key=1)
        collector.kafka.unavailable_reason = None
        other = await collector.send(2, "other").report
        same = await collector.send(1, "b").report
        assert (other.status, same.status) == (DeliveryStatus.ACKNOWLEDGED, DeliveryStatus.SPOOLED)
        collector.producer.start()
        await collector.drained()
        direct = await collector.send(1, "c").report
        await collector.producer.close()

        assert direct.status is DeliveryStatus.ACKNOWLEDGED
        assert collector.kafka.sent == [(2, "other"), (1, "a"), (1, "b"), (1, "c")]

    run(work)


def test_one_partition_without_a_leader_holds_up_no_other(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        collector.kafka.closed = {3}
        collector.producer.start()
        await collector.spooled("a", key=3)
        await collector.spooled("b", key=4)
        collector.kafka.unavailable_reason = None
        await until(lambda: collector.producer._waiting == {("events", 3)})
        assert collector.kafka.sent == [(4, "b")]
        direct = await collector.send(4, "c").report
        assert direct.status is DeliveryStatus.ACKNOWLEDGED
        collector.kafka.closed = set()
        await collector.drained()
        await collector.producer.close()

        assert collector.kafka.sent[-1] == (3, "a")

    run(work)


def test_what_kafka_does_not_acknowledge_is_sent_again_under_the_same_key(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        [id_] = await collector.spooled("a")
        collector.kafka.unknown = 2
        collector.producer.start()
        await collector.drained()
        await collector.producer.close()

        assert collector.kafka.keys == [f"spool:{id_}"] * 3

    run(work)


def test_the_next_process_delivers_what_a_killed_one_left(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        killed.producer.start()
        await killed.spooled("a", "b")
        killed.killed()
        heir = Collector(tmp_path, kafka)
        heir.producer.start()
        await until(lambda: heir.spool.requests == 2)
        assert [(await heir.send(1, "c").report).status] == [DeliveryStatus.SPOOLED]
        await heir.drained()
        await heir.producer.close()

        assert kafka.sent == [(1, "a"), (1, "b"), (1, "c")]
        assert heir.files == []

    run(work)


def test_a_running_process_keeps_its_files(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        running, other = Collector(tmp_path, kafka), Collector(tmp_path, kafka)
        await running.spooled("a")

        assert await other.spool.adopt() == set()
        assert (other.spool.requests, running.spool.requests) == (0, 1)
        await running.producer.close()

    run(work)


def test_a_folder_that_is_being_taken_over_stays_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        await killed.spooled("a")
        killed.killed()
        heir, other = Collector(tmp_path, kafka), Collector(tmp_path, kafka)
        recover = SpoolFile.recover

        def recover_and_release(file: SpoolFile, delivered: set[int]) -> Any:
            heir.spool.remove_delivered()  # as the task that delivers does meanwhile
            return recover(file, delivered)

        with monkeypatch.context() as patched:
            patched.setattr(SpoolFile, "recover", recover_and_release)
            await heir.spool.adopt()

        assert await other.spool.adopt() == set()
        assert await heir.spool.adopt() == set()
        assert heir.spool.requests == 1
        await heir.producer.close()

    run(work)


def test_a_file_that_cannot_be_read_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        await killed.spooled("a")
        killed.spool._active = None
        await killed.spooled("b")
        killed.killed()
        heir = Collector(tmp_path, kafka)
        recover = SpoolFile.recover

        def fail_first(file: SpoolFile, delivered: set[int]) -> Any:
            if file.name.endswith("-000001"):
                raise OSError("Input/output error")
            return recover(file, delivered)

        monkeypatch.setattr(SpoolFile, "recover", fail_first)
        heir.producer.start()
        await until(lambda: heir.spool.requests == 1)
        await heir.drained()
        await heir.producer.close()

        assert kafka.sent == [(1, "b")]
        assert heir.files == [".spool"]

    run(work)


def test_a_damaged_request_is_counted_and_holds_up_no_other(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        await killed.spooled("first", "second", "third")
        killed.killed()
        file = spool_file(tmp_path, ".spool")
        file.write_bytes(file.read_bytes().replace(b"second", b"sec0nd"))
        heir = Collector(tmp_path, kafka)
        heir.producer.start()
        await until(lambda: heir.spool.requests == 3)
        await heir.drained()
        await heir.producer.close()

        assert kafka.sent == [(1, "first"), (1, "third")]
        assert (heir.spool.damaged_requests, heir.spool.requests, heir.files) == (1, 0, [])

    run(work)


def test_a_process_killed_before_it_deleted_a_file_sends_nothing_twice(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        await killed.spooled("a", "b")
        kafka.unavailable_reason = None
        waiting = await killed.spool.read(MIB)
        assert await killed.producer._deliver(waiting) == []  # and the file still stands
        killed.killed()
        heir = Collector(tmp_path, kafka)
        heir.producer.start()
        await until(lambda: not heir.files)
        await heir.producer.close()

        assert kafka.sent == [(1, "a"), (1, "b")]

    run(work)


def test_a_process_killed_before_it_noted_a_delivery_sends_it_under_the_same_key(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        [id_] = await killed.spooled("a")
        kafka.unavailable_reason = None
        [waiting] = await killed.spool.read(MIB)
        await killed.producer._send(waiting.request).report
        killed.killed()
        heir = Collector(tmp_path, kafka)
        heir.producer.start()
        await until(lambda: not heir.files)
        await heir.producer.close()

        assert kafka.keys == [f"spool:{id_}"] * 2  # which deduplication stores once

    run(work)


def test_a_full_spool_refuses_and_sends_directly_once_kafka_is_back(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka(), spool_mb=1)
        await collector.spooled("x" * 600_000)
        with pytest.raises(Unavailable, match=r"the spool is full \(1 MB\)") as refused:
            collector.send(1, "y" * 600_000)
        collector.kafka.unavailable_reason = None
        report = await collector.send(1, "y" * 600_000).report
        await collector.producer.close()

        assert refused.value.retry_after == 30
        assert report.status is DeliveryStatus.ACKNOWLEDGED

    run(work)


def test_a_request_that_waits_too_long_stops_the_spool(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka(), spool_hours=2)
        await collector.spooled("a")
        collector.now += 2 * HOUR_MS
        await collector.spooled("b")
        assert collector.producer.unavailable_reason is None
        collector.now += 1
        with pytest.raises(Unavailable, match="waits for more than 2 hours"):
            collector.send(1, "c")
        assert "2 hours" in (collector.producer.unavailable_reason or "")
        await collector.producer.close()

    run(work)


def test_the_bytes_of_other_processes_count(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        await killed.spooled("x" * 600_000)
        killed.killed()
        heir = Collector(tmp_path, kafka, spool_mb=1)
        await heir.spool.adopt()
        with pytest.raises(Unavailable, match="the spool is full"):
            heir.send(1, "y" * 600_000)
        await heir.producer.close()

    run(work)


def test_a_request_that_no_message_holds_is_too_large_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        with pytest.raises(PayloadTooLarge):
            collector.send(1, "x" * 3 * MIB)
        # The key of each envelope counts: 500 of them exceed what is left of the 3 MiB.
        envelope = encode_envelope(Envelope("shop", "acme", NOW, 1, b"x" * 6_250))
        assert 3 * MIB - 500 * 36 < 500 * len(envelope) < 3 * MIB
        with pytest.raises(PayloadTooLarge):
            collector.producer.enqueue("events", 1, [envelope] * 500, 500)

    run(work)


def test_slots_that_begin_to_wait_during_a_take_over_stay(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        producer = collector.producer

        async def adopt() -> set[Slot]:
            producer._waiting = {("events", 7)}
            return {("events", 1)}

        collector.spool.adopt = adopt  # type: ignore[method-assign]  # the moment of the race
        producer.start()
        await until(lambda: bool(producer._waiting))
        await producer.close()

        assert producer._waiting == {("events", 1), ("events", 7)}

    run(work)


def test_a_request_that_its_topic_takes_no_more_is_set_aside_with_its_file(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        await collector.spooled("a", "b", "c")
        collector.kafka.too_large = {"b"}
        collector.producer.start()
        await collector.drained()
        await collector.producer.close()

        assert collector.kafka.sent == [(1, "a"), (1, "c")]
        assert collector.spool.requests_set_aside == 1
        [folder, _] = names_in(tmp_path / "spool")
        assert [name[-8:] for name in names_in(tmp_path / "spool" / folder)] == [".refused", "lock"]

        heir = Collector(tmp_path, collector.kafka, spool_hours=2)
        refused = spool_file(tmp_path, ".refused")
        for age_hours, removed in ((1.9, 0), (2.1, 1)):
            os.utime(refused, times=(time.time() - age_hours * 3600,) * 2)
            await heir.spool.adopt()
            assert heir.spool.refused_files_removed == removed
        assert names_in(tmp_path / "spool") == ["delivered"]

    run(work)


def test_a_second_outage_is_spooled_like_the_first_also_beside_a_file_set_aside(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        collector.producer.start()
        collector.kafka.too_large = {"large"}
        await collector.spooled("large", "a")
        await collector.drained()
        collector.kafka.unavailable_reason = "away again"
        await collector.spooled("b")
        await collector.drained()
        await collector.producer.close()

        assert collector.kafka.sent == [(1, "a"), (1, "b")]

    run(work)


def test_what_waits_is_delivered_also_where_the_spool_was_switched_off(tmp_path: Path) -> None:
    async def work() -> None:
        kafka = FakeKafka()
        killed = Collector(tmp_path, kafka)
        await killed.spooled("a")
        killed.killed()
        assert has_spooled_requests(tmp_path)
        heir = Collector(tmp_path, kafka, spool_mb=0)
        heir.producer.start()
        await until(lambda: heir.spool.requests == 1)
        with pytest.raises(Unavailable):
            heir.send(2, "b")
        await heir.drained()
        await heir.producer.close()

        assert kafka.sent == [(1, "a")]
        assert not has_spooled_requests(tmp_path)

    run(work)


def test_a_disk_that_fails_is_no_success_and_the_next_request_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        collector.producer.start()

        def full(_descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("os.fdatasync", full)
            failed = await collector.send(1, "a").report
        assert "No space left" in (collector.producer.unavailable_reason or "")
        with pytest.raises(Unavailable, match="the spool cannot be written"):
            collector.send(1, "refused")
        collector.now += 1_000
        await collector.spooled("b")
        assert collector.producer.unavailable_reason is None
        await collector.drained()
        await collector.producer.close()

        assert failed.status is DeliveryStatus.UNKNOWN
        assert collector.kafka.sent == [(1, "b")]
        assert len(names_in(tmp_path / "spool" / "delivered")) == 1

    run(work)


def test_health_is_ready_and_says_what_waits(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka(), spool_mb=1)
        await collector.spooled("x" * 900_000)
        app = lone_collector(
            collector.producer,
            in_memory_collector(tmp_path / "other").registry,
            lambda: NOW,
            Settings(data_dir=str(tmp_path)),
            spool=collector.producer,
        )
        taking = await send_request(app, "GET", "/health")
        warning = collector.producer.warning
        collector.now += 25 * HOUR_MS
        refusing = await send_request(app, "GET", "/health")
        await collector.producer.close()

        checks = ("kafka", "spool")
        assert (taking.status, taking.json["status"]) == (200, "degraded")
        assert [taking.json["checks"][name] for name in checks] == ["no broker responds", "ok"]
        assert taking.json["counts"]["spooledRequests"] == 1
        assert taking.json["counts"]["spooledBytes"] > 900_000
        assert warning == (
            "1 requests wait in the spool for Kafka, the oldest since 2026-11-18T11:06:40.000Z"
        )
        assert (refusing.status, refusing.json["ready"]) == (503, False)
        assert refusing.json["checks"]["spool"] == (
            "no broker responds; its oldest request waits for more than 24 hours"
        )

    run(work)


def test_the_gauges_of_a_collector_without_a_spool_are_zero() -> None:
    add_spool_gauges(None, lambda: NOW)

    names = ("bytes", "requests", "oldest_seconds", "cut_bytes", "set_aside", "damaged_requests")
    values = [REGISTRY.get_sample_value(f"tidemark_spool_{name}") for name in names]
    assert values == [0, 0, 0, 0, 0, 0]


def test_a_click_is_spooled_and_lost_by_no_stop(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        clicks = ClickQueue(collector.producer)
        envelope = encode_envelope(Envelope("spring", "acme", NOW, 1, b"click"))
        clicks.record(EncodedClick(1, envelope))
        await until(lambda: collector.spool.requests == 1)
        clicks.close()
        await collector.producer.close()
        collector.kafka.unavailable_reason = None
        heir = Collector(tmp_path, collector.kafka)
        heir.producer.start()
        await until(lambda: not heir.files)
        await heir.producer.close()

        assert (clicks.waiting, clicks.lost, clicks.unknown) == (0, 0, 0)
        assert heir.kafka.sent == [(1, "click")]
        assert heir.kafka.keys[0].startswith("spool:")
        heir.counter.write()
        assert not (tmp_path / ACKNOWLEDGED_FOLDER).exists()

    run(work)


def test_imports_are_not_spooled(tmp_path: Path) -> None:
    async def work() -> None:
        collector = Collector(tmp_path, FakeKafka())
        envelope = encode_envelope(Envelope("shop", "acme", NOW, 1, b"a"))
        with pytest.raises(KafkaAway):
            collector.producer.enqueue("backfill", 1, [envelope], 1)

    run(work)
