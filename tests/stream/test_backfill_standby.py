"""The idle backfill worker while Kafka is unreachable."""

import asyncio
from pathlib import Path

import pytest

from schemas.runtime.heartbeat import read_heartbeats
from schemas.runtime.settings import Settings
from stream import backfill_standby
from stream.backfill_standby import StandbyHeartbeat, _until_messages
from tests.installation import free_port


def test_an_idle_worker_writes_heartbeats_while_kafka_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill_standby, "STALE_SECONDS", 0.3)
    monkeypatch.setattr(backfill_standby, "POLL_SECONDS", 0.2)
    settings = Settings(data_dir=str(tmp_path), kafka=f"127.0.0.1:{free_port()}")

    async def wait_for_nothing() -> list[int]:
        heartbeat = StandbyHeartbeat(settings, "backfill")
        tasks = [
            asyncio.create_task(heartbeat.run()),
            asyncio.create_task(_until_messages(settings, heartbeat, None)),
        ]
        beats: list[int] = []
        async with asyncio.timeout(10):
            while len(beats) < 2:
                await asyncio.sleep(0.1)
                actual = [heartbeat.at_ms for heartbeat in read_heartbeats(tmp_path / "run")]
                beats += [at for at in actual if at not in beats]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return beats

    first, second = asyncio.run(wait_for_nothing())

    assert 0 < second - first < 3_000
