"""One process that is kept alive: started, watched until ready, started again when it ends."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from deploy.local.logs import last_lines
from deploy.local.process import Running, Spec, State

FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 10.0
STEADY_SECONDS = 30.0
"""Who has run that long is forgiven for earlier ends."""
LOOK_SECONDS = 0.1
CALM_SECONDS = 1.0


class NeverReady(Exception):
    """A process ended several times and was not ready once; the message has its last lines."""


class Child:
    """Keeps the process of one spec running until it is told to stop."""

    def __init__(
        self,
        spec: Spec,
        environment: Mapping[str, str],
        log: Path,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.spec = spec
        self.log = log
        self.state = State.WAITING
        self.running: Running | None = None
        self.restarts = 0
        self.readied = asyncio.Event()
        """Set when it was ready for the first time."""
        self._environment = environment
        self._changed = changed
        self._stopping = asyncio.Event()
        self.ends = 0

    @property
    def pid(self) -> int | None:
        """Pid of the process that runs now."""
        return self.running.pid if self.running else None

    async def keep(self) -> None:
        """Run the process until `stop`; NeverReady when it will not run."""
        while not self._stopping.is_set():
            await self._run_once()
            if self._stopping.is_set():
                break
            self._give_up_if_hopeless()
            self._enter(State.RESTARTING)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self.delay())
            self.restarts += 1
        self._enter(State.STOPPED)

    async def stop(self, hurry: asyncio.Event) -> None:
        """End the process and do not start it again."""
        self._stopping.set()
        if self.running:
            self._enter(State.STOPPING)
            await self.running.stop(hurry)

    def delay(self) -> float:
        """Seconds until the next start: doubled with every end in a row, and capped."""
        return min(FIRST_DELAY_SECONDS * 2.0 ** (self.ends - 1), LONGEST_DELAY_SECONDS)

    async def _run_once(self) -> None:
        self.running = await Running.start(self.spec, self._environment, self.log)
        self._enter(State.STARTING)
        if self._stopping.is_set():  # told to stop while it was being started
            self.running.signal(signal.SIGKILL)
        watching = asyncio.create_task(self._watch(self.running))
        try:
            self.code = await self.running.ended()
        finally:
            watching.cancel()
        self.ends = 1 if self.running.seconds > STEADY_SECONDS else self.ends + 1
        self.running = None

    async def _watch(self, running: Running) -> None:
        """Ask again and again whether it is ready: often until it is, now and then afterwards."""
        while True:
            ready = await asyncio.to_thread(self.spec.ready, running.pid)
            if not self._stopping.is_set():
                self._judge(ready)
            await asyncio.sleep(LOOK_SECONDS if self.state == State.STARTING else CALM_SECONDS)

    def _judge(self, ready: bool) -> None:
        if ready and self.state != State.READY:
            self._enter(State.READY)
            self.readied.set()
        elif not ready and self.state == State.READY:
            self._enter(State.UNREADY)

    def _give_up_if_hopeless(self) -> None:
        if not self.readied.is_set() and self.ends >= self.spec.attempts:
            raise NeverReady(
                f"{self.spec.name} cannot start (exit code {self.code}). "
                f"The last lines of {self.log}:\n{last_lines(self.log)}"
            )

    def _enter(self, state: State) -> None:
        self.state = state
        self._changed()
