"""Heartbeats of a server say since when it is not ready, and why."""

import asyncio
from pathlib import Path

from schemas.http.server import _write_heartbeats
from schemas.runtime.heartbeat import heartbeat_path, read_heartbeat

NAME = "collector-1"


def test_a_server_that_was_ready_is_unready_and_says_why(tmp_path: Path) -> None:
    problem: list[str | None] = ["the registry has not been read yet"]

    async def follow() -> list[tuple[str, str]]:
        writing = asyncio.create_task(
            _write_heartbeats(tmp_path, NAME, lambda: problem[0], lambda: None)
        )
        seen = [await state_other_than("")]
        for problem[0] in (None, "Kafka is away"):
            seen.append(await state_other_than(seen[-1][0]))
        writing.cancel()
        return seen

    async def state_other_than(last: str) -> tuple[str, str]:
        async with asyncio.timeout(20):
            while True:
                own = read_heartbeat(heartbeat_path(tmp_path, NAME))
                if own is not None and own.state != last:
                    return own.state, own.unready_reason
                await asyncio.sleep(0.02)

    assert asyncio.run(follow()) == [
        ("starting", "the registry has not been read yet"),
        ("ready", ""),
        ("unready", "Kafka is away"),
    ]
