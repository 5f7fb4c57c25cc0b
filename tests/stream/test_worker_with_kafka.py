"""A worker on a broker whose topics are missing, grow, lose messages or are recreated."""

import os
import subprocess
import time
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pytest
from aiokafka.admin import NewPartitions

from schemas.envelope import encode_chunk, encode_envelope
from schemas.kafka.request_ids import request_id_headers
from schemas.kinds import IMPORTED_EVENT
from schemas.lake.delta_table import open_table
from schemas.lake.live_notice import LiveNotice
from schemas.runtime.clock import now_ms
from schemas.runtime.heartbeat import read_heartbeats, refusal_reason
from schemas.tables import EVENTS
from stream.consumer.commit_pace import SPARE_COMMITS
from stream.runtime.errors import EXIT_CONFIG
from tests.installation import eventually
from tests.stream.builders import an_envelope, named
from tests.stream.kafka_site import Site


def test_a_worker_waits_for_the_topics_and_stops_cleanly(site: Site) -> None:
    site.start()
    eventually(lambda: "waiting for topics" in site.log.read_text())
    site.create_topics()
    site.send("a", "b")

    eventually(lambda: site.stored() == ["a", "b"])
    assert site.stop() == 0


def test_the_log_names_the_requests_of_quarantined_items(site: Site) -> None:
    site.create_topics()
    site.send_chunks([b"garbage"], headers=request_id_headers(["request-1", "request-2"]))
    site.send("a")
    site.start()
    eventually(lambda: site.stored() == ["a"], seconds=60)

    def lines() -> list[str]:
        """Written after the commit that stores the row."""
        return [line for line in site.log.read_text().splitlines() if "items quarantined" in line]

    [line] = eventually(lines)
    assert "request-1 request-2" in line
    assert site.stop() == 0


@pytest.mark.long
def test_new_partitions_are_read_from_their_beginning(site: Site) -> None:
    site.create_topics()
    site.send("a")
    site.start()
    eventually(lambda: site.stored() == ["a"])

    site.manage(lambda client: client.create_partitions({site.topic: NewPartitions(3)}))
    site.send("b", partition=2)

    eventually(lambda: site.stored() == ["a", "b"], seconds=60)


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_few_items_do_not_wait_while_somebody_looks(broker: str, tmp_path: Path) -> None:
    """Each would wait for up to 30 s."""
    site = Site(broker, tmp_path, quiet_seconds=30.0)
    site.create_topics()
    site.start()
    for number in range(SPARE_COMMITS):
        site.send(f"spare-{number}")
        eventually(partial(has_stored, site, f"spare-{number}"))
    notice = LiveNotice(site.settings.lake_url, EVENTS)

    def is_seen(name: str) -> bool:
        notice.write(now_ms())
        return has_stored(site, name)

    site.send("a")
    time.sleep(2 * site.settings.batch_seconds)
    assert not has_stored(site, "a")
    eventually(partial(is_seen, "a"), 25)
    for name in ("b", "c"):
        site.send(name)
        eventually(partial(is_seen, name), 25)
    assert site.stop() == 0


def has_stored(site: Site, name: str) -> bool:
    return name in site.stored()


def commits(site: Site) -> int:
    """Version of the table of events."""
    table = open_table(site.settings.lake_url, EVENTS)
    assert table is not None
    return table.version()


def memory_mb(process: subprocess.Popen[bytes]) -> int:
    return int(psutil.Process(process.pid).memory_info().rss) // 2**20


@pytest.mark.long
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


@pytest.mark.long
def test_kafka_has_the_offset_after_all_that_is_stored_for_dashboards(site: Site) -> None:
    """Records that were fetched together are acknowledged together, without a gap behind them."""
    names = [f"a{number}" for number in range(120)]
    site.create_topics()
    site.send(*names)
    site.start()
    eventually(lambda: len(site.stored()) == 120, seconds=60)
    site.send("b")
    site.send(*names)

    eventually(lambda: len(site.stored()) == 241, seconds=60)
    eventually(lambda: site.committed() == 241, seconds=60)
