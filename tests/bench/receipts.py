"""Latency of a receipt lookup, with an empty and with a large quarantine."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from schemas.receipts import RECEIPT_FORMAT, Receipt
from schemas.tables import EVENTS, QUARANTINE
from tests.bench.results import BenchmarkResult, Figure
from tests.query.lake import Stored
from tests.query.query_service import NOW, InProcessService, start_service

DAYS = 7
PARTS_A_DAY = 10
ROWS = 2_000
"""Rows of each part."""

TIMES = 200
PARTITION = 2
FIRST_MS = NOW - DAYS * 86_400_000
RECEIPT = Receipt(RECEIPT_FORMAT, "events", 1, PARTITION, 0, 0, 100, FIRST_MS, "shop")

HOW = (
    "GET /v1/receipts of 100 items, in this process, the key's check and the JSON included; a lake "
    f"whose quarantine has {DAYS * PARTS_A_DAY * ROWS:,} rows in {DAYS * PARTS_A_DAY} parts of "
    f"{DAYS} days."
)


def measure() -> BenchmarkResult:
    """Both, and the CPU of the dearer."""
    with tempfile.TemporaryDirectory() as folder, run_lookup(Path(folder)) as service:
        service.lake.moves(EVENTS, PARTITION, 10**9)
        wall, cpu = looked_up(service)
        figures = [*_figures("nothing set aside", wall, cpu)]
        for part in range(DAYS * PARTS_A_DAY):
            service.lake.holds(*rows(part), as_they_are=True)
        service.lake.moves(QUARANTINE, PARTITION, 10**9)
        figures += _figures("some set aside", *looked_up(service))
    return BenchmarkResult("Receipts", HOW, figures)


@contextmanager
def run_lookup(folder: Path) -> Iterator[InProcessService]:
    service = start_service(folder, fresh_seconds=0.2)
    with closing(service):
        yield service


def looked_up(service: InProcessService) -> tuple[list[float], float]:
    """Milliseconds of each look-up, and CPU milliseconds of one."""
    for offset in range(10):
        _look_up(service, offset)
    began, walls = time.process_time(), []
    for offset in range(TIMES):
        before = time.perf_counter()
        _look_up(service, offset)
        walls.append((time.perf_counter() - before) * 1000)
    return walls, (time.process_time() - began) * 1000 / TIMES


def _look_up(service: InProcessService, offset: int) -> None:
    day = offset % DAYS
    receipt = replace(RECEIPT, offset=offset, received_ms=FIRST_MS + day * 86_400_000)
    assert (
        service.ask(
            "GET", f"/v1/receipts/{service.follower.snapshot.receipt_key.sign(receipt)}"
        ).status
        == 200
    )


def rows(part: int) -> Iterator[Stored]:
    """Rows of one part: some of every chunk of ten minutes."""
    day, piece = divmod(part, PARTS_A_DAY)
    for number in range(ROWS):
        at = datetime.fromtimestamp(FIRST_MS / 1000, UTC)
        at += timedelta(days=day, minutes=10 * piece, milliseconds=300 * number)
        yield Stored(
            QUARANTINE,
            {
                "subject_id": "shop", "ts": at, "received_at": at, "topic": "events",
                "kafka_partition": PARTITION, "kafka_offset": number // 10, "seq": number % 10,
                "stage": "duplicate", "reason": "an item with this eventId was stored before",
            },
        )  # fmt: skip


def _figures(what: str, walls: list[float], cpu: float) -> Iterator[Figure]:
    yield Figure(f"{what}: answered, median", statistics.median(walls), "ms", expected="< 5")
    yield Figure(f"{what}: answered, p99", sorted(walls)[int(TIMES * 0.99)], "ms")
    yield Figure(f"{what}: CPU", cpu, "ms")


if __name__ == "__main__":
    print(measure().text())
