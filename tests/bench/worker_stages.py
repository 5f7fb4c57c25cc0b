"""CPU per event of the stages of a worker: decode, enrich, write, commit.

`python -m tests.bench.worker_stages` prints it for the requests of many browsers, `--events 100`
for those of servers; `--profile` shows where it is spent.
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from schemas.envelope import encode_chunk
from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from stream.enrich.rules.geo_database import GeoDatabase
from stream.enrich.rules.lookups import Lookups
from stream.rows.kafka_message import KafkaMessage, open_message
from stream.runtime.allocator import tune_allocator
from stream.writing.batch_writer import BatchWriter
from tests.bench.diverse_traffic import DiverseTraffic

PARTITIONS = 8


def batches(
    traffic: DiverseTraffic, count: int, rows: int, events: int | None, chunk: int
) -> list[Sequence[KafkaMessage]]:
    """Batches of about so many rows, as chunks of about so many events."""
    now = now_ms()
    data_set: list[Sequence[KafkaMessage]] = []
    number = 0
    for _ in range(count):
        batch = []
        for _ in range(rows // chunk):
            offset, partition = divmod(number, PARTITIONS)
            batch.append(open_message(partition, offset, now, a_chunk(traffic, now, events, chunk)))
            number += 1
        data_set.append(batch)
    return data_set


def a_chunk(traffic: DiverseTraffic, now: int, events: int | None, least: int) -> bytes:
    """Requests of so many events (or of as many as come), until they fill a Kafka message."""
    requests = []
    held = 0
    while held < least:
        request = traffic.request(now, events)
        requests.append(request.body)
        held += request.events
    return encode_chunk(requests)


def measure(message_batches: Sequence[Sequence[KafkaMessage]]) -> tuple[float, int]:
    """CPU µs per event of storing the batches, and bytes per event on the disk."""
    lookups = Lookups(GeoDatabase(Settings().geo_files))
    with tempfile.TemporaryDirectory() as folder:
        writer = BatchWriter(Settings(data_dir=folder), CUSTOM_EVENT, lookups)
        tune_allocator()
        first = writer.write(message_batches[0]).rows  # what is built once is not measured
        begun = time.process_time()
        events = sum(writer.write(batch).rows for batch in message_batches[1:])
        spent = time.process_time() - begun
        parts = (Path(folder) / "lake" / "events").rglob("*.parquet")
        size = sum(part.stat().st_size for part in parts)
    return spent / events * 1e6, size // (first + events)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--events", type=int, help="in a request; else 1 to 12, as they come")
    parser.add_argument("--chunk", type=int, default=200, help="events in a Kafka message, about")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    message_batches = batches(
        DiverseTraffic(), options.batches, options.rows, options.events, options.chunk
    )
    profile = cProfile.Profile(time.process_time)
    if options.profile:
        profile.enable()
    cpu, size = measure(message_batches)
    profile.disable()
    print(f"{cpu:.1f} µs CPU per event, {size} bytes per event before compaction")
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
