"""A worker on a broker whose topics are missing, grow, lose messages or are recreated."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pyarrow.parquet as pq
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.structs import TopicPartition

from deploy.local.kafka.broker import Broker
from schemas.envelope import encode_chunk, encode_envelope
from schemas.kinds import ALL_KINDS, CUSTOM_EVENT, IMPORTED_EVENT
from schemas.lake.damage_reports import DamageReports
from schemas.lake.delta_table import open_table
from schemas.lake.topic_identity import TopicIdentity
from schemas.registry.migrate import migrate
from schemas.runtime.clock import now_ms
from schemas.runtime.environment import to_environment
from schemas.runtime.heartbeat import read_heartbeats, refusal_reason
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from stream.consumer.commit_pace import SPARE_COMMITS
from stream.enrich.rules.lookups import Lookups
from stream.recovery.file_repair import NotRepaired, repair
from stream.recovery.topic_replay import topic_identity
from stream.runtime.errors import EXIT_CONFIG
from stream.storage.delta_commit import LakeTable
from stream.writing import topic_epochs
from stream.writing.batch_writer import BatchWriter
from tests.installation import eventually, format_storage, free_port
from tests.stream.builders import a_message, an_envelope, named, rows, version


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("stream") / "broker"
    format_storage(folder)
    with Broker(folder, port=free_port(), controller_port=free_port()) as running:
        yield running.address


class Site:
    """A worker with topics, group and lake of its own."""

    def __init__(self, address: str, folder: Path, quiet_seconds: float = 0.0) -> None:
        self.log = folder / "worker.log"
        self.settings = Settings(
            data_dir=str(folder),
            kafka=address,
            topic_prefix=f"{folder.name}.",
            consumer_group=folder.name,
            session_seconds=6,
            batch_seconds=0.3,
            batch_quiet_seconds=quiet_seconds,
            rest_seconds=1.0,
        )
        self.process: subprocess.Popen[bytes] | None = None
        migrate(self.settings.registry_url)

    @property
    def run(self) -> Path:
        return self.settings.data / "run"

    @property
    def topic(self) -> str:
        return self.settings.topic("events")

    def start(self, role: str = "worker") -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stream", role, "--name", "worker-1"],
                env={**os.environ, **to_environment(self.settings)},
                stderr=log,
            )
        return self.process

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def manage(self, act: Callable[[AIOKafkaAdminClient], Awaitable[object]]) -> None:
        async def acting() -> None:
            client = AIOKafkaAdminClient(bootstrap_servers=self.settings.kafka)
            await client.start()
            try:
                await act(client)
            finally:
                await client.close()

        asyncio.run(acting())

    def create_topics(self, partitions: int = 1) -> None:
        topics = [NewTopic(self.settings.topic(kind.topic), partitions, 1) for kind in ALL_KINDS]
        self.manage(lambda client: client.create_topics(topics))

    def send(self, *names: str, partition: int = 0, topic: str = "events") -> None:
        """One chunk for each name."""
        self.send_chunks(
            [encode_chunk([encode_envelope(named(name))]) for name in names], partition, topic
        )

    def send_chunks(
        self, chunks: Sequence[bytes], partition: int = 0, topic: str = "events"
    ) -> None:
        async def sending() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.settings.kafka, max_request_size=4 << 20
            )
            await producer.start()
            try:
                for chunk in chunks:
                    await producer.send_and_wait(
                        self.settings.topic(topic), chunk, partition=partition
                    )
            finally:
                await producer.stop()

        asyncio.run(sending())

    def epochs(self) -> list[tuple[int, int]]:
        return rows(self.settings, EVENTS, "epoch", "kafka_offset")

    def stored(self) -> list[str]:
        if open_table(self.settings.lake_url, EVENTS) is None:
            return []
        return [name for (name,) in rows(self.settings, EVENTS, "name")]


@pytest.fixture
def site(broker: str, tmp_path: Path) -> Iterator[Site]:
    site = Site(broker, tmp_path)
    yield site
    if site.process and site.process.poll() is None:
        site.process.kill()
        site.process.wait()


def test_a_worker_waits_for_the_topics_and_stops_cleanly(site: Site) -> None:
    site.start()
    eventually(lambda: "waiting for topics" in site.log.read_text())
    site.create_topics()
    site.send("a", "b")

    eventually(lambda: site.stored() == ["a", "b"])
    assert site.stop() == 0


def test_new_partitions_are_read_from_their_beginning(site: Site) -> None:
    site.create_topics()
    site.send("a")
    site.start()
    eventually(lambda: site.stored() == ["a"])

    site.manage(lambda client: client.create_partitions({site.topic: NewPartitions(3)}))
    site.send("b", partition=2)

    eventually(lambda: site.stored() == ["a", "b"], seconds=60)


def test_a_backlog_of_large_items_neither_fills_memory_nor_delays_others(site: Site) -> None:
    large = [{"name": "large", "properties": {"blob": os.urandom(30_000).hex()}} for _ in range(16)]
    site.create_topics(partitions=2)
    site.send_chunks([encode_chunk([encode_envelope(an_envelope(large))])] * 80)
    site.send("small", partition=1)

    site.start()

    eventually(lambda: "small" in site.stored())
    assert site.stored().count("large") < 40 * 16  # 77 MB are 7 batches; the small one is in one
    eventually(lambda: site.stored().count("large") == 80 * 16)
    assert site.process is not None
    status = Path(f"/proc/{site.process.pid}/status").read_text()
    [peak_kb] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    assert int(peak_kb) < 600_000


def test_a_worker_of_another_lake_does_not_join_the_group(site: Site, tmp_path: Path) -> None:
    site.create_topics()
    site.send("a")
    site.start()
    eventually(lambda: site.stored() == ["a"])
    other = Site(site.settings.kafka, tmp_path / "other")
    same = {"topic_prefix": site.settings.topic_prefix, "consumer_group": tmp_path.name}
    other.settings = msgspec.structs.replace(other.settings, **same)

    assert other.start().wait(30) == EXIT_CONFIG
    assert "has workers of another lake (tidemark-lake/" in other.log.read_text()
    assert "TIDEMARK_CONSUMER_GROUP" in str(refusal_reason(other.run, now_ms()))
    site.send("b")
    eventually(lambda: site.stored() == ["a", "b"])
    assert site.stop() == 0


def test_few_items_share_a_commit_until_a_request_waits_for_one(
    broker: str, tmp_path: Path
) -> None:
    site = Site(broker, tmp_path, quiet_seconds=30.0)
    site.create_topics()
    site.start()
    spare = [f"spare-{number}" for number in range(SPARE_COMMITS)]
    for name in spare:
        site.send(name)
        eventually(partial(has_stored, site, name))
    before = commits(site)

    for number in range(4):
        site.send(f"late-{number}")
        time.sleep(2 * site.settings.batch_seconds)
    held_back = site.stored()
    awaited = msgspec.structs.replace(named("awaited"), awaited=True)
    site.send_chunks([encode_chunk([encode_envelope(awaited)])])
    eventually(lambda: "awaited" in site.stored())

    assert held_back == spare
    assert site.stored() == [*sorted(["awaited", *(f"late-{n}" for n in range(4))]), *spare]
    assert commits(site) == before + 1
    assert site.stop() == 0


def has_stored(site: Site, name: str) -> bool:
    return name in site.stored()


def commits(site: Site) -> int:
    """Version of the table of events."""
    table = open_table(site.settings.lake_url, EVENTS)
    assert table is not None
    return table.version()


def test_deleted_messages_are_quarantined_as_a_range_and_the_rest_is_stored(site: Site) -> None:
    site.create_topics()
    site.send("a", "b", "c")
    topic_partition = TopicPartition(site.topic, 0)
    site.manage(
        lambda client: client.delete_records({topic_partition: RecordsToDelete(before_offset=2)})
    )
    site.start()

    eventually(lambda: site.stored() == ["c"])
    assert "messages were deleted from Kafka" in site.log.read_text()
    assert rows(site.settings, QUARANTINE, "kafka_offset", "reason") == [
        (0, "messages 0 to 1 were gone from Kafka, unread")
    ]


def views(*names: str) -> bytes:
    """A chunk of page views without sessions, by one visitor; their ids are their names."""
    items = [{"name": name, "eventId": name, "anonymousId": "v"} for name in names]
    return encode_chunk([encode_envelope(an_envelope(items, received_ms=now_ms()))])


def file_of(site: Site, name: str) -> Path:
    """The data file that holds the event of that name."""
    parts = [part.path for part in version(site.settings, EVENTS).data_files]
    [held] = [p for p in parts if name in pq.read_table(p, columns=["name"])["name"].to_pylist()]
    return Path(held)


def test_rows_of_a_lost_data_file_are_recovered_from_kafka_once_and_lost_ones_reported(
    site: Site,
) -> None:
    columns = ("name", "session_id", "epoch", "kafka_partition", "kafka_offset", "seq", "ts")
    chunks = [views("a", "b"), views("c", "a"), views("d")]
    site.create_topics()
    site.send_chunks(chunks)
    writer = BatchWriter(site.settings, CUSTOM_EVENT, Lookups())
    writer.assign_topic(topic_identity(site.settings.brokers, site.topic), {0: len(chunks)})
    writer.write([a_message(0, body=chunks[0])])
    writer.write([a_message(offset, body=chunks[offset]) for offset in (1, 2)])
    before = rows(site.settings, EVENTS, *columns)
    first, second = file_of(site, "a"), file_of(site, "c")

    first.unlink()
    back = repair(site.settings, f"events/{first.parent.name}/{first.name}", Lookups())

    assert (back.recovered, back.lost) == (2, 0)
    assert rows(site.settings, EVENTS, *columns) == before

    topic_partition = TopicPartition(site.topic, 0)
    site.manage(
        lambda client: client.delete_records({topic_partition: RecordsToDelete(before_offset=2)})
    )
    second.write_bytes(second.read_bytes()[:-1])
    path = f"events/{second.parent.name}/{second.name}"
    with pytest.raises(NotRepaired, match="restore the file from a backup"):
        repair(site.settings, path, Lookups())
    lost = repair(site.settings, path, Lookups(), accept_loss=True)

    assert (lost.recovered, lost.lost) == (1, 1)
    assert site.stored() == ["a", "b", "d"]
    account = rows(site.settings, LEDGER, "received", "stored", "duplicate", "dropped")
    assert [sum(column) for column in zip(*account, strict=True)] == [5, 3, 1, 1]
    assert (second.parents[1] / "_damaged" / second.name).exists()
    assert DamageReports(site.settings.data).files() == {}


def test_a_topic_recreated_while_no_worker_runs_loses_no_message(site: Site) -> None:
    site.create_topics()
    site.send("a", "b")
    site.start()
    eventually(lambda: site.stored() == ["a", "b"])
    assert site.stop() == 0
    assert not read_heartbeats(site.run)  # who was told to stop is not late

    site.manage(lambda client: client.delete_topics([site.topic]))
    eventually(lambda: created_again(site))
    site.send("c", "d", "e", "f")  # more than the table's next offset
    site.start()

    eventually(lambda: site.stored() == ["a", "b", "c", "d", "e", "f"])
    assert site.epochs() == [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]
    assert "the topic was recreated" in site.log.read_text()
    [(offset, reason)] = rows(site.settings, QUARANTINE, "kafka_offset", "reason")
    assert (offset, reason.partition(";")[0]) == (
        0,
        "the topic was made anew: of the one before (epoch 1) messages up to 1 are stored",
    )


def test_a_topic_recreated_under_a_running_worker_loses_no_message(site: Site) -> None:
    site.create_topics()
    site.start()
    site.send("a", "b")
    eventually(lambda: site.stored() == ["a", "b"])

    site.manage(lambda client: client.delete_topics([site.topic]))
    eventually(lambda: created_again(site))
    site.send("c", "d", "e", "f")

    assert site.process is not None
    assert site.process.wait(60) == 75
    assert site.stored() == ["a", "b"]
    site.start()
    eventually(lambda: site.stored() == ["a", "b", "c", "d", "e", "f"])


def test_another_kafka_cluster_at_the_same_address_is_refused(site: Site) -> None:
    site.create_topics()
    site.send("a")
    table = LakeTable(site.settings, EVENTS)
    topic_epochs.assign_epoch(
        table, site.topic, TopicIdentity("theirs", "another"), {0: 0}, site.settings
    )

    assert site.start().wait(60) == 78

    assert "written from another cluster" in (refusal_reason(site.run, now_ms()) or "")
    assert site.stored() == []


def memory_mb(process: subprocess.Popen[bytes]) -> int:
    return int(psutil.Process(process.pid).memory_info().rss) // 2**20


def test_a_backfill_worker_idles_works_and_idles_again_as_one_process(site: Site) -> None:
    site.create_topics()
    process = site.start("backfill")
    eventually(lambda: "worker-1" in [heartbeat.process for heartbeat in read_heartbeats(site.run)])
    idle_mb = memory_mb(process)

    site.send("a", topic=IMPORTED_EVENT.topic)
    eventually(lambda: site.stored() == ["a"])
    working_mb = memory_mb(process)
    eventually(lambda: "backfill worker idle" in site.log.read_text())
    eventually(lambda: memory_mb(process) < working_mb / 2)
    site.send("b", topic=IMPORTED_EVENT.topic)
    eventually(lambda: site.stored() == ["a", "b"])

    assert idle_mb < working_mb / 2
    assert site.stop() == 0


def created_again(site: Site) -> bool:
    """Deletion takes Kafka a moment."""
    codes: list[int] = []

    async def create(client: AIOKafkaAdminClient) -> None:
        response = await client.create_topics([NewTopic(site.topic, 1, 1)])
        codes.extend(error[1] for error in response.topic_errors)

    site.manage(create)
    return codes == [0]
