"""Background readiness probe of lake and registry."""

import asyncio
from pathlib import Path

from query.dependencies import QueryDependencies
from schemas.errors import Unavailable
from schemas.runtime.heartbeat import SILENT_MS, refusal_reason, silence
from schemas.tables import EVENTS

POLL_SECONDS = 1.0


class ReadinessProbe:
    """Checks every second, so that health endpoints never wait for a disk."""

    def __init__(self, dependencies: QueryDependencies, run: Path) -> None:
        self._dependencies = dependencies
        self._run = run
        self._lake_problem: str | None = "not checked yet"
        self._storage_problem: str | None = None

    def lake_problem(self) -> str | None:
        """What is wrong with the lake."""
        return self._lake_problem

    def registry_problem(self) -> str | None:
        """What is wrong with the registry; queries use the last snapshot meanwhile."""
        return self._dependencies.follower.error

    def storage_problem(self) -> str | None:
        """Why new data is not being stored; queries of stored data succeed."""
        return self._storage_problem

    def is_ready(self) -> bool:
        """Whether queries can run."""
        return self._lake_problem is None

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await self.check()
            await asyncio.sleep(POLL_SECONDS)

    async def check(self) -> None:
        """Check now."""
        self._storage_problem = await asyncio.to_thread(self._find_storage_problem)
        try:
            pinned = await self._dependencies.snapshots.pin(EVENTS)
            await self._dependencies.damaged_files.check_newest(pinned.version)
            self._lake_problem = None
        except Unavailable as unavailable:
            self._lake_problem = unavailable.message

    def _find_storage_problem(self) -> str | None:
        """A refusal, or silent workers unless those of another machine store instead."""
        at_ms = self._dependencies.clock()
        if reason := refusal_reason(self._run, at_ms):
            return reason
        if self._dependencies.freshness.is_current(EVENTS, SILENT_MS):
            return None
        return silence(self._run, at_ms)
