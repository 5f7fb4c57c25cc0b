"""Look: whether what the service answers from can be read, looked at beside the questions."""

import asyncio
from pathlib import Path

from query.dependencies import Desk
from schemas.errors import Unavailable
from schemas.runtime.heartbeat import refusal, silence
from schemas.tables import EVENTS

EVERY_SECONDS = 1.0


class Look:
    """Looks every second, so that health never waits for a disk."""

    def __init__(self, desk: Desk, run: Path) -> None:
        self._desk = desk
        self._run = run
        self._lake: str | None = "not looked at yet"
        self._storing: str | None = None

    def lake(self) -> str | None:
        """What is wrong with the lake."""
        return self._lake

    def registry(self) -> str | None:
        """What is wrong with the registry; questions are answered from the last snapshot then."""
        return self._desk.follower.trouble

    def storing(self) -> str | None:
        """Why something is not stored at the moment; what is stored is answered."""
        return self._storing

    def ready(self) -> bool:
        """Whether questions can be answered."""
        return self._lake is None

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.once()
            await asyncio.sleep(EVERY_SECONDS)

    async def once(self) -> None:
        """Look now."""
        self._storing = await asyncio.to_thread(_not_storing, self._run, self._desk.clock())
        try:
            pinned = await self._desk.shelf.pin(EVENTS)
            await self._desk.damaged.look(pinned.version)
            self._lake = None
        except Unavailable as unavailable:
            self._lake = unavailable.message


def _not_storing(run: Path, at_ms: int) -> str | None:
    return refusal(run, at_ms) or silence(run, at_ms)
