"""Look: whether what the service answers from can be read, looked at beside the questions."""

import asyncio
from pathlib import Path

from query.dependencies import QueryDependencies
from schemas.errors import Unavailable
from schemas.runtime.heartbeat import refusal_reason, silence
from schemas.tables import EVENTS

POLL_SECONDS = 1.0


class ReadinessProbe:
    """Looks every second, so that health never waits for a disk."""

    def __init__(self, desk: QueryDependencies, run: Path) -> None:
        self._desk = desk
        self._run = run
        self._lake_problem: str | None = "not looked at yet"
        self._storing: str | None = None

    def lake_problem(self) -> str | None:
        """What is wrong with the lake."""
        return self._lake_problem

    def registry_problem(self) -> str | None:
        """What is wrong with the registry; questions are answered from the last snapshot then."""
        return self._desk.follower.error

    def storage_problem(self) -> str | None:
        """Why something is not stored at the moment; what is stored is answered."""
        return self._storing

    def is_ready(self) -> bool:
        """Whether questions can be answered."""
        return self._lake_problem is None

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.check()
            await asyncio.sleep(POLL_SECONDS)

    async def check(self) -> None:
        """Look now."""
        self._storing = await asyncio.to_thread(_not_storing, self._run, self._desk.clock())
        try:
            pinned = await self._desk.snapshots.pin(EVENTS)
            await self._desk.damaged_files.check_newest(pinned.version)
            self._lake_problem = None
        except Unavailable as unavailable:
            self._lake_problem = unavailable.message


def _not_storing(run: Path, at_ms: int) -> str | None:
    return refusal_reason(run, at_ms) or silence(run, at_ms)
