"""CPU that a worker's own part costs per event: open, enrich, write, commit, with real files.

`python -m tests.bench.line` prints it for requests of 100 events; `--profile` shows where it is.
"""

import argparse
import cProfile
import json
import pstats
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from schemas.clock import now_ms
from schemas.envelope import Envelope, join, seal
from schemas.kinds import CUSTOM_EVENT
from schemas.settings import Settings
from stream.drain import Drain
from stream.enrich.lookups import Lookups
from stream.opening import Arrived

AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/{n}.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_{n} like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.{n} Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:{n}.0) Gecko/20100101 Firefox/{n}.0",
)
REFERRERS = (None, "https://www.google.com/", "https://t.co/x", "https://blog.other.example/post/7")


def an_item(chance: random.Random, now: int) -> dict[str, object]:
    """What a browser's tracker sends of a page view; some 690 bytes."""
    visitor = chance.randrange(20_000)
    return {
        "name": chance.choice(("screen_view", "screen_view", "add_to_cart", "search")),
        "eventId": f"{chance.getrandbits(128):032x}",
        "anonymousId": f"anon_{visitor:026x}",
        "sessionId": f"sess_{visitor * 3 + chance.randrange(3):026x}",
        "timestamp": now - chance.randrange(4000),
        "path": f"https://shop.example/products/{chance.randrange(400)}?utm_source=google&page=2",
        "title": f"Product {chance.randrange(400)} – The Shop",
        "referrer": chance.choice(REFERRERS),
        "timezone": chance.choice(("Europe/Berlin", "America/New_York", "Asia/Tokyo")),
        "language": "en-US",
        "screen_resolution": chance.choice(("1920x1080", "390x844", "2560x1440")),
        "viewport_size": f"{chance.randrange(300, 2000)}x{chance.randrange(400, 1200)}",
        "time_on_page": round(chance.random() * 90, 2),
        "scroll_depth": chance.randrange(100),
        "properties": {"price": chance.randrange(9000) / 100, "currency": "EUR", "sku": "A-17"},
    }


def a_request(chance: random.Random, now: int, events: int) -> bytes:
    """One request as an envelope."""
    agent = chance.choice(AGENTS).format(n=chance.randrange(100, 142))
    return seal(
        Envelope(
            subject_id=f"web_{chance.randrange(20):04}",
            organization_id="org_1",
            received_ms=now,
            count=events,
            items=json.dumps([an_item(chance, now) for _ in range(events)]).encode(),
            address=f"203.0.{chance.randrange(256)}.0",
            user_agent=agent,
            headers={"accept-language": "en-US,en;q=0.9", "origin": "https://shop.example"},
        )
    )


def batches(count: int, rows: int, events: int, requests: int) -> list[Sequence[Arrived]]:
    """Batches of so many rows, as chunks of so many requests of so many events."""
    chance, now = random.Random(7), now_ms()
    chunks = rows // (events * requests)
    return [
        [
            Arrived(
                partition=0,
                offset=batch * chunks + chunk,
                timestamp_ms=now,
                body=join([a_request(chance, now, events) for _ in range(requests)]),
                acknowledge=lambda: None,
            )
            for chunk in range(chunks)
        ]
        for batch in range(count)
    ]


def measure(given: Sequence[Sequence[Arrived]], rows: int) -> tuple[float, int]:
    """CPU µs per event of storing the batches, and bytes per event on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        drain = Drain(Settings(data_dir=folder), CUSTOM_EVENT, Lookups())
        begun = time.process_time()
        for batch in given:
            drain.store(batch)
        spent = time.process_time() - begun
        parts = (Path(folder) / "lake" / "events").rglob("*.parquet")
        size = sum(part.stat().st_size for part in parts)
    events = len(given) * rows
    return spent / events * 1e6, size // events


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=100, help="in a request")
    parser.add_argument("--requests", type=int, default=2, help="in a chunk")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    given = batches(asked.batches, asked.rows, asked.events, asked.requests)
    profile = cProfile.Profile()
    if asked.profile:
        profile.enable()
    cpu, size = measure(given, asked.rows)
    profile.disable()
    print(f"{cpu:.1f} µs CPU per event, {size} bytes per event before compaction")
    if asked.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
